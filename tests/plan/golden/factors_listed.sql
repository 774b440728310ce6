-- listed: Friends(x, y) ^ Cancer(x) => !Cancer(y).

WITH "clauses0" AS (
  SELECT DISTINCT
    LIST_SORT(LIST_DISTINCT(LIST_FILTER([-"g"."l0", -"g"."l1"], LAMBDA x : x <> 0))) AS "literals"
  FROM (
    SELECT
      CASE
        WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
        THEN NULL
        ELSE LEAST("o0"."atom", "o1"."atom")
      END AS "l0",
      CASE
        WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
        THEN NULL
        ELSE GREATEST("o0"."atom", "o1"."atom")
      END AS "l1",
      COUNT(*) AS "multiplicity"
    FROM "memory"."sqlrl"."fact_Friends" AS "t0"
    INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
      ON "o0"."a0" = "t0"."a0"
    INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o1"
      ON "o1"."a0" = "t0"."a1"
    GROUP BY
      CASE
        WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
        THEN NULL
        ELSE LEAST("o0"."atom", "o1"."atom")
      END,
      CASE
        WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
        THEN NULL
        ELSE GREATEST("o0"."atom", "o1"."atom")
      END
  ) AS "g"
), "factors1" AS (
  SELECT
    "a"."example",
    "c"."literals"
  FROM "clauses0" AS "c"
  JOIN (
    SELECT
      "atom",
      "example"
    FROM "memory"."sqlrl"."atom_Cancer"
    UNION ALL
    SELECT
      "atom",
      "example"
    FROM "memory"."sqlrl"."atom_Smokes"
  ) AS "a"
    ON "a"."atom" = ABS("c"."literals"[1])
)
SELECT
  "x"."example" AS "example",
  "x"."nodes",
  "y"."factors",
  "y"."edges"
FROM (
  SELECT
    "example",
    COUNT(DISTINCT "atom") AS "nodes"
  FROM (
    SELECT
      "example",
      "atom"
    FROM (
      SELECT
        "example",
        ABS("literal") AS "atom"
      FROM (
        SELECT
          "example",
          UNNEST("literals") AS "literal"
        FROM "factors1"
      ) AS "s"
    ) AS "a"
  ) AS "a"
  GROUP BY
    "example"
) AS "x"
JOIN (
  SELECT
    "example",
    COUNT(*) AS "factors",
    CAST(SUM(ARRAY_LENGTH("literals")) AS INT128) AS "edges"
  FROM "factors1"
  GROUP BY
    "example"
) AS "y"
  ON "x"."example" = "y"."example";
