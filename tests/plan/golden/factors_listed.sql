-- listed: Friends(x, y) ^ Cancer(x) => !Cancer(y).

-- duckdb
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

-- spark
WITH `clauses0` AS (
  SELECT DISTINCT
    ARRAY_SORT(ARRAY_DISTINCT(FILTER(ARRAY(-`g`.`l0`, -`g`.`l1`), x -> x <> 0))) AS `literals`
  FROM (
    SELECT
      LEAST(`o0`.`atom`, `o1`.`atom`) AS `l0`,
      GREATEST(`o0`.`atom`, `o1`.`atom`) AS `l1`,
      COUNT(*) AS `multiplicity`
    FROM `memory`.`sqlrl`.`fact_Friends` AS `t0`
    INNER JOIN `memory`.`sqlrl`.`atom_Cancer` AS `o0`
      ON `o0`.`a0` = `t0`.`a0`
    INNER JOIN `memory`.`sqlrl`.`atom_Cancer` AS `o1`
      ON `o1`.`a0` = `t0`.`a1`
    GROUP BY
      LEAST(`o0`.`atom`, `o1`.`atom`),
      GREATEST(`o0`.`atom`, `o1`.`atom`)
  ) AS `g`
), `factors1` AS (
  SELECT
    `a`.`example`,
    `c`.`literals`
  FROM `clauses0` AS `c`
  JOIN (
    SELECT
      `atom`,
      `example`
    FROM `memory`.`sqlrl`.`atom_Cancer`
    UNION ALL
    SELECT
      `atom`,
      `example`
    FROM `memory`.`sqlrl`.`atom_Smokes`
  ) AS `a`
    ON `a`.`atom` = ABS(`c`.`literals`[0])
)
SELECT
  `x`.`example` AS `example`,
  `x`.`nodes`,
  `y`.`factors`,
  `y`.`edges`
FROM (
  SELECT
    `example`,
    COUNT(DISTINCT `atom`) AS `nodes`
  FROM (
    SELECT
      `example`,
      `atom`
    FROM (
      SELECT
        `example`,
        ABS(`literal`) AS `atom`
      FROM (
        SELECT
          `example`,
          EXPLODE(`literals`) AS `literal`
        FROM `factors1`
      ) AS `s`
    ) AS `a`
  ) AS `a`
  GROUP BY
    `example`
) AS `x`
JOIN (
  SELECT
    `example`,
    COUNT(*) AS `factors`,
    COALESCE(
      TRY_SUM(CAST(SIZE(`literals`) AS DECIMAL(38, 0))),
      CASE
        WHEN COUNT(SIZE(`literals`)) > 0
        THEN CAST(RAISE_ERROR('overflow of a sum of integers') AS DECIMAL(38, 0))
      END
    ) AS `edges`
  FROM `factors1`
  GROUP BY
    `example`
) AS `y`
  ON `x`.`example` = `y`.`example`;
