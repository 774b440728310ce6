-- ---- duckdb
-- The probability of each atom of Near(person, person), by a model that sqlrl exported.
-- Columns: person, person_2; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "Friends": ("column0", "column1") facts of Friends
--   "Tall": ("column0") facts of Tall
CREATE VIEW "near_scores" AS
WITH "Friends_facts" /* facts of Friends */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1"
  FROM "Friends" AS "t"
  WHERE
    NOT "t"."column0" IS NULL AND NOT "t"."column1" IS NULL
), "Tall_facts" /* facts of Tall */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0"
  FROM "Tall" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
), "person_constants" /* all constants of person */ AS (
  SELECT
    "a0" AS "id"
  FROM "Friends_facts"
  UNION
  SELECT
    "a1" AS "id"
  FROM "Friends_facts"
  UNION
  SELECT
    "a0" AS "id"
  FROM "Tall_facts"
), "Near_atoms" /* atoms of Near */ AS (
  SELECT
    "d0"."id" AS "a0",
    "d1"."id" AS "a1"
  FROM "person_constants" AS "d0"
  CROSS JOIN "person_constants" AS "d1"
), "rule_1_m0" AS (
  SELECT
    "f0"."a1" AS "s0",
    "f1"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f0"
  INNER JOIN "Friends_facts" AS "f1"
    ON "f1"."a0" = "f0"."a0"
  GROUP BY
    "f0"."a1",
    "f1"."a1"
), "rule_1_m1" AS (
  SELECT
    "m0"."s1" AS "s0",
    "f2"."a0" AS "s1",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "Friends_facts" AS "f2"
  INNER JOIN "rule_1_m0" AS "m0"
    ON "m0"."s0" = "f2"."a1"
  GROUP BY
    "m0"."s1",
    "f2"."a0"
), "rule_1_m2" AS (
  SELECT
    "m1"."s0" AS "s0",
    "f3"."a1" AS "s1",
    CAST(SUM("m1"."n") AS BIGINT) AS "n"
  FROM "Friends_facts" AS "f3"
  INNER JOIN "rule_1_m1" AS "m1"
    ON "m1"."s1" = "f3"."a0"
  GROUP BY
    "m1"."s0",
    "f3"."a1"
), "rule_1_m3" AS (
  SELECT
    "f6"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f6"
  INNER JOIN "Friends_facts" AS "f7"
    ON "f7"."a0" = "f6"."a0" AND "f7"."a1" = "f6"."a1"
  GROUP BY
    "f6"."a1"
), "rule_1_m4" AS (
  SELECT
    "f5"."a1" AS "s0",
    "f4"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f4"
  INNER JOIN "Friends_facts" AS "f5"
    ON "f5"."a0" = "f4"."a0"
  GROUP BY
    "f5"."a1",
    "f4"."a1"
), "rule_1_m5" AS (
  SELECT
    "m4"."s0" AS "s0",
    "m3"."s0" AS "s1",
    CAST(SUM("m3"."n" * "m4"."n") AS BIGINT) AS "n"
  FROM "rule_1_m3" AS "m3"
  INNER JOIN "rule_1_m4" AS "m4"
    ON "m4"."s1" = "m3"."s0"
  GROUP BY
    "m4"."s0",
    "m3"."s0"
), "rule_1" /* 0.5 Friends(a, x) ^ Friends(a, b) ^ Friends(c, b) ^ Friends(c, y) ^ b != y => Near(x, y) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    (
      "m2"."n" + (
        -1
      ) * COALESCE("m5"."n", 0)
    ) AS "n"
  FROM "rule_1_m2" AS "m2"
  INNER JOIN "Near_atoms" AS "o0"
    ON "o0"."a0" = "m2"."s0" AND "o0"."a1" = "m2"."s1"
  LEFT JOIN "rule_1_m5" AS "m5"
    ON "m5"."s0" = "m2"."s0" AND "m5"."s1" = "m2"."s1"
  WHERE
    (
      "m2"."n" + (
        -1
      ) * COALESCE("m5"."n", 0)
    ) > 0
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    "a1",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "Near_atoms"
  UNION ALL
  SELECT
    "a0",
    "a1",
    0.5E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    "a1",
    CAST(SUM("log_odds") AS DOUBLE) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0",
    "a1"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
    "a1",
    CASE
      WHEN "must" = 1 AND "must_not" = 1
      THEN NULL
      WHEN "must" = 1
      THEN CAST('Infinity' AS DOUBLE)
      WHEN "must_not" = 1
      THEN -CAST('Infinity' AS DOUBLE)
      ELSE "score"
    END AS "log_odds"
  FROM "scores"
)
SELECT
  "a0" AS "person",
  "a1" AS "person_2",
  "log_odds",
  CASE
    WHEN "log_odds" > 700.0E0
    THEN 1.0E0
    WHEN "log_odds" < -700.0E0
    THEN 0.0E0
    WHEN "log_odds" >= 0
    THEN 1.0E0 / (
      1.0E0 + EXP(-"log_odds")
    )
    ELSE EXP("log_odds") / (
      1.0E0 + EXP("log_odds")
    )
  END AS "probability"
FROM "certain";

-- ---- postgres
-- The probability of each atom of Near(person, person), by a model that sqlrl exported.
-- Columns: person, person_2; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "Friends": ("column0", "column1") facts of Friends
--   "Tall": ("column0") facts of Tall
-- ANALYZE the tables once they are filled: without statistics PostgreSQL may join them in an order that takes hours.
CREATE VIEW "near_scores" AS
WITH "Friends_facts" /* facts of Friends */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1"
  FROM "Friends" AS "t"
  WHERE
    NOT "t"."column0" IS NULL AND NOT "t"."column1" IS NULL
), "Tall_facts" /* facts of Tall */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0"
  FROM "Tall" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
), "person_constants" /* all constants of person */ AS (
  SELECT
    "a0" AS "id"
  FROM "Friends_facts"
  UNION
  SELECT
    "a1" AS "id"
  FROM "Friends_facts"
  UNION
  SELECT
    "a0" AS "id"
  FROM "Tall_facts"
), "Near_atoms" /* atoms of Near */ AS (
  SELECT
    "d0"."id" AS "a0",
    "d1"."id" AS "a1"
  FROM "person_constants" AS "d0"
  CROSS JOIN "person_constants" AS "d1"
), "rule_1_m0" AS (
  SELECT
    "f0"."a1" AS "s0",
    "f1"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f0"
  INNER JOIN "Friends_facts" AS "f1"
    ON "f1"."a0" = "f0"."a0"
  GROUP BY
    "f0"."a1",
    "f1"."a1"
), "rule_1_m1" AS (
  SELECT
    "m0"."s1" AS "s0",
    "f2"."a0" AS "s1",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "Friends_facts" AS "f2"
  INNER JOIN "rule_1_m0" AS "m0"
    ON "m0"."s0" = "f2"."a1"
  GROUP BY
    "m0"."s1",
    "f2"."a0"
), "rule_1_m2" AS (
  SELECT
    "m1"."s0" AS "s0",
    "f3"."a1" AS "s1",
    CAST(SUM("m1"."n") AS BIGINT) AS "n"
  FROM "Friends_facts" AS "f3"
  INNER JOIN "rule_1_m1" AS "m1"
    ON "m1"."s1" = "f3"."a0"
  GROUP BY
    "m1"."s0",
    "f3"."a1"
), "rule_1_m3" AS (
  SELECT
    "f6"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f6"
  INNER JOIN "Friends_facts" AS "f7"
    ON "f7"."a0" = "f6"."a0" AND "f7"."a1" = "f6"."a1"
  GROUP BY
    "f6"."a1"
), "rule_1_m4" AS (
  SELECT
    "f5"."a1" AS "s0",
    "f4"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f4"
  INNER JOIN "Friends_facts" AS "f5"
    ON "f5"."a0" = "f4"."a0"
  GROUP BY
    "f5"."a1",
    "f4"."a1"
), "rule_1_m5" AS (
  SELECT
    "m4"."s0" AS "s0",
    "m3"."s0" AS "s1",
    CAST(SUM("m3"."n" * "m4"."n") AS BIGINT) AS "n"
  FROM "rule_1_m3" AS "m3"
  INNER JOIN "rule_1_m4" AS "m4"
    ON "m4"."s1" = "m3"."s0"
  GROUP BY
    "m4"."s0",
    "m3"."s0"
), "rule_1" /* 0.5 Friends(a, x) ^ Friends(a, b) ^ Friends(c, b) ^ Friends(c, y) ^ b != y => Near(x, y) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    (
      "m2"."n" + (
        -1
      ) * COALESCE("m5"."n", 0)
    ) AS "n"
  FROM "rule_1_m2" AS "m2"
  INNER JOIN "Near_atoms" AS "o0"
    ON "o0"."a0" = "m2"."s0" AND "o0"."a1" = "m2"."s1"
  LEFT JOIN "rule_1_m5" AS "m5"
    ON "m5"."s0" = "m2"."s0" AND "m5"."s1" = "m2"."s1"
  WHERE
    (
      "m2"."n" + (
        -1
      ) * COALESCE("m5"."n", 0)
    ) > 0
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    "a1",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "Near_atoms"
  UNION ALL
  SELECT
    "a0",
    "a1",
    0.5E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    "a1",
    CAST(SUM("log_odds") AS DOUBLE PRECISION) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0",
    "a1"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
    "a1",
    CASE
      WHEN "must" = 1 AND "must_not" = 1
      THEN NULL
      WHEN "must" = 1
      THEN CAST('Infinity' AS DOUBLE PRECISION)
      WHEN "must_not" = 1
      THEN -CAST('Infinity' AS DOUBLE PRECISION)
      ELSE "score"
    END AS "log_odds"
  FROM "scores"
)
SELECT
  "a0" AS "person",
  "a1" AS "person_2",
  "log_odds",
  CASE
    WHEN "log_odds" > 700.0E0
    THEN 1.0E0
    WHEN "log_odds" < -700.0E0
    THEN 0.0E0
    WHEN "log_odds" >= 0
    THEN 1.0E0 / (
      1.0E0 + EXP(-"log_odds")
    )
    ELSE EXP("log_odds") / (
      1.0E0 + EXP("log_odds")
    )
  END AS "probability"
FROM "certain";

-- ---- spark
-- The probability of each atom of Near(person, person), by a model that sqlrl exported.
-- Columns: person, person_2; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   `Friends`: (`column0`, `column1`) facts of Friends
--   `Tall`: (`column0`) facts of Tall
CREATE VIEW `near_scores` AS
WITH `Friends_facts` /* facts of Friends */ AS (
  SELECT DISTINCT
    CAST(`t`.`column0` AS STRING) AS `a0`,
    CAST(`t`.`column1` AS STRING) AS `a1`
  FROM `Friends` AS `t`
  WHERE
    NOT `t`.`column0` IS NULL AND NOT `t`.`column1` IS NULL
), `Tall_facts` /* facts of Tall */ AS (
  SELECT DISTINCT
    CAST(`t`.`column0` AS STRING) AS `a0`
  FROM `Tall` AS `t`
  WHERE
    NOT `t`.`column0` IS NULL
), `person_constants` /* all constants of person */ AS (
  SELECT
    `a0` AS `id`
  FROM `Friends_facts`
  UNION
  SELECT
    `a1` AS `id`
  FROM `Friends_facts`
  UNION
  SELECT
    `a0` AS `id`
  FROM `Tall_facts`
), `Near_atoms` /* atoms of Near */ AS (
  SELECT
    `d0`.`id` AS `a0`,
    `d1`.`id` AS `a1`
  FROM `person_constants` AS `d0`
  CROSS JOIN `person_constants` AS `d1`
), `rule_1_m0` AS (
  SELECT
    `f0`.`a1` AS `s0`,
    `f1`.`a1` AS `s1`,
    COUNT(*) AS `n`
  FROM `Friends_facts` AS `f0`
  INNER JOIN `Friends_facts` AS `f1`
    ON `f1`.`a0` = `f0`.`a0`
  GROUP BY
    `f0`.`a1`,
    `f1`.`a1`
), `rule_1_m1` AS (
  SELECT
    `m0`.`s1` AS `s0`,
    `f2`.`a0` AS `s1`,
    CAST(SUM(`m0`.`n`) AS BIGINT) AS `n`
  FROM `Friends_facts` AS `f2`
  INNER JOIN `rule_1_m0` AS `m0`
    ON `m0`.`s0` = `f2`.`a1`
  GROUP BY
    `m0`.`s1`,
    `f2`.`a0`
), `rule_1_m2` AS (
  SELECT
    `m1`.`s0` AS `s0`,
    `f3`.`a1` AS `s1`,
    CAST(SUM(`m1`.`n`) AS BIGINT) AS `n`
  FROM `Friends_facts` AS `f3`
  INNER JOIN `rule_1_m1` AS `m1`
    ON `m1`.`s1` = `f3`.`a0`
  GROUP BY
    `m1`.`s0`,
    `f3`.`a1`
), `rule_1_m3` AS (
  SELECT
    `f6`.`a1` AS `s0`,
    COUNT(*) AS `n`
  FROM `Friends_facts` AS `f6`
  INNER JOIN `Friends_facts` AS `f7`
    ON `f7`.`a0` = `f6`.`a0` AND `f7`.`a1` = `f6`.`a1`
  GROUP BY
    `f6`.`a1`
), `rule_1_m4` AS (
  SELECT
    `f5`.`a1` AS `s0`,
    `f4`.`a1` AS `s1`,
    COUNT(*) AS `n`
  FROM `Friends_facts` AS `f4`
  INNER JOIN `Friends_facts` AS `f5`
    ON `f5`.`a0` = `f4`.`a0`
  GROUP BY
    `f5`.`a1`,
    `f4`.`a1`
), `rule_1_m5` AS (
  SELECT
    `m4`.`s0` AS `s0`,
    `m3`.`s0` AS `s1`,
    CAST(SUM(`m3`.`n` * `m4`.`n`) AS BIGINT) AS `n`
  FROM `rule_1_m3` AS `m3`
  INNER JOIN `rule_1_m4` AS `m4`
    ON `m4`.`s1` = `m3`.`s0`
  GROUP BY
    `m4`.`s0`,
    `m3`.`s0`
), `rule_1` /* 0.5 Friends(a, x) ^ Friends(a, b) ^ Friends(c, b) ^ Friends(c, y) ^ b != y => Near(x, y) */ AS (
  SELECT
    `o0`.`a0`,
    `o0`.`a1`,
    (
      `m2`.`n` + (
        -1
      ) * COALESCE(`m5`.`n`, 0)
    ) AS `n`
  FROM `rule_1_m2` AS `m2`
  INNER JOIN `Near_atoms` AS `o0`
    ON `o0`.`a0` = `m2`.`s0` AND `o0`.`a1` = `m2`.`s1`
  LEFT JOIN `rule_1_m5` AS `m5`
    ON `m5`.`s0` = `m2`.`s0` AND `m5`.`s1` = `m2`.`s1`
  WHERE
    (
      `m2`.`n` + (
        -1
      ) * COALESCE(`m5`.`n`, 0)
    ) > 0
), `evidence` /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    `a0`,
    `a1`,
    0.0E0 AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `Near_atoms`
  UNION ALL
  SELECT
    `a0`,
    `a1`,
    0.5E0 * `n` AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `rule_1`
), `scores` /* weighted counts */ AS (
  SELECT
    `a0`,
    `a1`,
    CAST(SUM(`log_odds`) AS DOUBLE) AS `score`,
    MAX(`must`) AS `must`,
    MAX(`must_not`) AS `must_not`
  FROM `evidence`
  GROUP BY
    `a0`,
    `a1`
), `certain` /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    `a0`,
    `a1`,
    CASE
      WHEN `must` = 1 AND `must_not` = 1
      THEN NULL
      WHEN `must` = 1
      THEN CAST('Infinity' AS DOUBLE)
      WHEN `must_not` = 1
      THEN -CAST('Infinity' AS DOUBLE)
      ELSE `score`
    END AS `log_odds`
  FROM `scores`
)
SELECT
  `a0` AS `person`,
  `a1` AS `person_2`,
  `log_odds`,
  CASE
    WHEN `log_odds` > 700.0E0
    THEN 1.0E0
    WHEN `log_odds` < -700.0E0
    THEN 0.0E0
    WHEN `log_odds` >= 0
    THEN 1.0E0 / (
      1.0E0 + EXP(-`log_odds`)
    )
    ELSE EXP(`log_odds`) / (
      1.0E0 + EXP(`log_odds`)
    )
  END AS `probability`
FROM `certain`;

-- ---- sqlite
-- The probability of each atom of Near(person, person), by a model that sqlrl exported.
-- Columns: person, person_2; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "Friends": ("column0", "column1") facts of Friends
--   "Tall": ("column0") facts of Tall
-- Needs SQLite 3.35 or later with its mathematical functions, as Python and the shell have it.
CREATE VIEW "near_scores" AS
WITH "Friends_facts" /* facts of Friends */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1"
  FROM "Friends" AS "t"
  WHERE
    NOT "t"."column0" IS NULL AND NOT "t"."column1" IS NULL
), "Tall_facts" /* facts of Tall */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0"
  FROM "Tall" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
), "person_constants" /* all constants of person */ AS (
  SELECT
    "a0" AS "id"
  FROM "Friends_facts"
  UNION
  SELECT
    "a1" AS "id"
  FROM "Friends_facts"
  UNION
  SELECT
    "a0" AS "id"
  FROM "Tall_facts"
), "Near_atoms" /* atoms of Near */ AS (
  SELECT
    "d0"."id" AS "a0",
    "d1"."id" AS "a1"
  FROM "person_constants" AS "d0"
  CROSS JOIN "person_constants" AS "d1"
), "rule_1_m0" AS (
  SELECT
    "f0"."a1" AS "s0",
    "f1"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f0"
  INNER JOIN "Friends_facts" AS "f1"
    ON "f1"."a0" = "f0"."a0"
  GROUP BY
    "f0"."a1",
    "f1"."a1"
), "rule_1_m1" AS (
  SELECT
    "m0"."s1" AS "s0",
    "f2"."a0" AS "s1",
    CAST(SUM("m0"."n") AS INTEGER) AS "n"
  FROM "Friends_facts" AS "f2"
  INNER JOIN "rule_1_m0" AS "m0"
    ON "m0"."s0" = "f2"."a1"
  GROUP BY
    "m0"."s1",
    "f2"."a0"
), "rule_1_m2" AS (
  SELECT
    "m1"."s0" AS "s0",
    "f3"."a1" AS "s1",
    CAST(SUM("m1"."n") AS INTEGER) AS "n"
  FROM "Friends_facts" AS "f3"
  INNER JOIN "rule_1_m1" AS "m1"
    ON "m1"."s1" = "f3"."a0"
  GROUP BY
    "m1"."s0",
    "f3"."a1"
), "rule_1_m3" AS (
  SELECT
    "f6"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f6"
  INNER JOIN "Friends_facts" AS "f7"
    ON "f7"."a0" = "f6"."a0" AND "f7"."a1" = "f6"."a1"
  GROUP BY
    "f6"."a1"
), "rule_1_m4" AS (
  SELECT
    "f5"."a1" AS "s0",
    "f4"."a1" AS "s1",
    COUNT(*) AS "n"
  FROM "Friends_facts" AS "f4"
  INNER JOIN "Friends_facts" AS "f5"
    ON "f5"."a0" = "f4"."a0"
  GROUP BY
    "f5"."a1",
    "f4"."a1"
), "rule_1_m5" AS (
  SELECT
    "m4"."s0" AS "s0",
    "m3"."s0" AS "s1",
    CAST(SUM("m3"."n" * "m4"."n") AS INTEGER) AS "n"
  FROM "rule_1_m3" AS "m3"
  INNER JOIN "rule_1_m4" AS "m4"
    ON "m4"."s1" = "m3"."s0"
  GROUP BY
    "m4"."s0",
    "m3"."s0"
), "rule_1" /* 0.5 Friends(a, x) ^ Friends(a, b) ^ Friends(c, b) ^ Friends(c, y) ^ b != y => Near(x, y) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    (
      "m2"."n" + (
        -1
      ) * COALESCE("m5"."n", 0)
    ) AS "n"
  FROM "rule_1_m2" AS "m2"
  INNER JOIN "Near_atoms" AS "o0"
    ON "o0"."a0" = "m2"."s0" AND "o0"."a1" = "m2"."s1"
  LEFT JOIN "rule_1_m5" AS "m5"
    ON "m5"."s0" = "m2"."s0" AND "m5"."s1" = "m2"."s1"
  WHERE
    (
      "m2"."n" + (
        -1
      ) * COALESCE("m5"."n", 0)
    ) > 0
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    "a1",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "Near_atoms"
  UNION ALL
  SELECT
    "a0",
    "a1",
    0.5E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    "a1",
    CAST(SUM("log_odds") AS REAL) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0",
    "a1"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
    "a1",
    CASE
      WHEN "must" = 1 AND "must_not" = 1
      THEN NULL
      WHEN "must" = 1
      THEN 9E999
      WHEN "must_not" = 1
      THEN -9E999
      ELSE "score"
    END AS "log_odds"
  FROM "scores"
)
SELECT
  "a0" AS "person",
  "a1" AS "person_2",
  "log_odds",
  CASE
    WHEN "log_odds" > 700.0E0
    THEN 1.0E0
    WHEN "log_odds" < -700.0E0
    THEN 0.0E0
    WHEN "log_odds" >= 0
    THEN 1.0E0 / (
      1.0E0 + EXP(-"log_odds")
    )
    ELSE EXP("log_odds") / (
      1.0E0 + EXP("log_odds")
    )
  END AS "probability"
FROM "certain";

