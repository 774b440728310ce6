-- listed: Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y))).

WITH "clauses0" AS (
  SELECT DISTINCT
    LIST_SORT(
      LIST_DISTINCT(LIST_FILTER(LIST_CONCAT([-"g"."l0"], COALESCE("g"."e0", [])), LAMBDA x : x <> 0))
    ) AS "literals"
  FROM (
    SELECT
      "o0"."atom" AS "l0",
      "w0o"."atoms" AS "e0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "o0"
    LEFT JOIN (
      SELECT
        "w0o_t0"."a0" AS "x0",
        LIST_SORT(ARRAY_AGG(DISTINCT "w0o_atom"."atom")) AS "atoms"
      FROM "memory"."sqlrl"."fact_Friends" AS "w0o_t0"
      INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "w0o_atom"
        ON "w0o_atom"."a0" = "w0o_t0"."a1"
      GROUP BY
        "w0o_t0"."a0"
    ) AS "w0o"
      ON "w0o"."x0" = "o0"."a0"
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
  WHERE
    ARRAY_LENGTH(LIST_DISTINCT(LIST_TRANSFORM("c"."literals", LAMBDA x : ABS(x)))) = ARRAY_LENGTH("c"."literals")
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
