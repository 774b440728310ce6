-- ---- duckdb
-- The probability of each atom of Smokes(person), by a model that sqlrl exported.
-- Columns: person; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "Friends": ("column0", "column1") facts of Friends
--   "Tall": ("column0") facts of Tall
CREATE VIEW "smokes_scores" AS
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
), "Smokes_atoms" /* atoms of Smokes */ AS (
  SELECT
    "d0"."id" AS "a0"
  FROM "person_constants" AS "d0"
), "rule_1" /* 0.75 Smokes(x) v (EXIST y Friends(y, x) ^ Tall(y)) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "w0c_t0"."a1" AS "x0"
        FROM "Friends_facts" AS "w0c_t0"
        INNER JOIN "Tall_facts" AS "w0c_t1"
          ON "w0c_t1"."a0" = "w0c_t0"."a0"
      ) AS "w0c"
      WHERE
        "w0c"."x0" = "o0"."a0"
    )
), "rule_2" /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "w0c_t0"."a0" AS "x0"
        FROM "Friends_facts" AS "w0c_t0"
      ) AS "w0c"
      WHERE
        "w0c"."x0" = "o0"."a0"
    )
), "rule_3" /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "Smokes_atoms"
  UNION ALL
  SELECT
    "a0",
    0.75E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
  UNION ALL
  SELECT
    "a0",
    -2.0E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_2"
  UNION ALL
  SELECT
    "a0",
    2.0E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_3"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    CAST(SUM("log_odds") AS DOUBLE) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
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
-- The probability of each atom of Smokes(person), by a model that sqlrl exported.
-- Columns: person; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "Friends": ("column0", "column1") facts of Friends
--   "Tall": ("column0") facts of Tall
-- ANALYZE the tables once they are filled: without statistics PostgreSQL may join them in an order that takes hours.
CREATE VIEW "smokes_scores" AS
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
), "Smokes_atoms" /* atoms of Smokes */ AS (
  SELECT
    "d0"."id" AS "a0"
  FROM "person_constants" AS "d0"
), "rule_1" /* 0.75 Smokes(x) v (EXIST y Friends(y, x) ^ Tall(y)) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "w0c_t0"."a1" AS "x0"
        FROM "Friends_facts" AS "w0c_t0"
        INNER JOIN "Tall_facts" AS "w0c_t1"
          ON "w0c_t1"."a0" = "w0c_t0"."a0"
      ) AS "w0c"
      WHERE
        "w0c"."x0" = "o0"."a0"
    )
), "rule_2" /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "w0c_t0"."a0" AS "x0"
        FROM "Friends_facts" AS "w0c_t0"
      ) AS "w0c"
      WHERE
        "w0c"."x0" = "o0"."a0"
    )
), "rule_3" /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "Smokes_atoms"
  UNION ALL
  SELECT
    "a0",
    0.75E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
  UNION ALL
  SELECT
    "a0",
    -2.0E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_2"
  UNION ALL
  SELECT
    "a0",
    2.0E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_3"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    CAST(SUM("log_odds") AS DOUBLE PRECISION) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
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
-- The probability of each atom of Smokes(person), by a model that sqlrl exported.
-- Columns: person; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   `Friends`: (`column0`, `column1`) facts of Friends
--   `Tall`: (`column0`) facts of Tall
CREATE VIEW `smokes_scores` AS
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
), `Smokes_atoms` /* atoms of Smokes */ AS (
  SELECT
    `d0`.`id` AS `a0`
  FROM `person_constants` AS `d0`
), `rule_1` /* 0.75 Smokes(x) v (EXIST y Friends(y, x) ^ Tall(y)) */ AS (
  SELECT
    `o0`.`a0`,
    1 AS `n`
  FROM `Smokes_atoms` AS `o0`
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `w0c_t0`.`a1` AS `x0`
        FROM `Friends_facts` AS `w0c_t0`
        INNER JOIN `Tall_facts` AS `w0c_t1`
          ON `w0c_t1`.`a0` = `w0c_t0`.`a0`
      ) AS `w0c`
      WHERE
        `w0c`.`x0` = `o0`.`a0`
    )
), `rule_2` /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    `o0`.`a0`,
    1 AS `n`
  FROM `Smokes_atoms` AS `o0`
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `w0c_t0`.`a0` AS `x0`
        FROM `Friends_facts` AS `w0c_t0`
      ) AS `w0c`
      WHERE
        `w0c`.`x0` = `o0`.`a0`
    )
), `rule_3` /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    `o0`.`a0`,
    1 AS `n`
  FROM `Smokes_atoms` AS `o0`
), `evidence` /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    `a0`,
    0.0E0 AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `Smokes_atoms`
  UNION ALL
  SELECT
    `a0`,
    0.75E0 * `n` AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `rule_1`
  UNION ALL
  SELECT
    `a0`,
    -2.0E0 * `n` AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `rule_2`
  UNION ALL
  SELECT
    `a0`,
    2.0E0 * `n` AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `rule_3`
), `scores` /* weighted counts */ AS (
  SELECT
    `a0`,
    CAST(SUM(`log_odds`) AS DOUBLE) AS `score`,
    MAX(`must`) AS `must`,
    MAX(`must_not`) AS `must_not`
  FROM `evidence`
  GROUP BY
    `a0`
), `certain` /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    `a0`,
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
-- The probability of each atom of Smokes(person), by a model that sqlrl exported.
-- Columns: person; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "Friends": ("column0", "column1") facts of Friends
--   "Tall": ("column0") facts of Tall
-- Needs SQLite 3.35 or later with its mathematical functions, as Python and the shell have it.
CREATE VIEW "smokes_scores" AS
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
), "Smokes_atoms" /* atoms of Smokes */ AS (
  SELECT
    "d0"."id" AS "a0"
  FROM "person_constants" AS "d0"
), "rule_1" /* 0.75 Smokes(x) v (EXIST y Friends(y, x) ^ Tall(y)) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "w0c_t0"."a1" AS "x0"
        FROM "Friends_facts" AS "w0c_t0"
        INNER JOIN "Tall_facts" AS "w0c_t1"
          ON "w0c_t1"."a0" = "w0c_t0"."a0"
      ) AS "w0c"
      WHERE
        "w0c"."x0" = "o0"."a0"
    )
), "rule_2" /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "w0c_t0"."a0" AS "x0"
        FROM "Friends_facts" AS "w0c_t0"
      ) AS "w0c"
      WHERE
        "w0c"."x0" = "o0"."a0"
    )
), "rule_3" /* 2.0 (EXIST y Friends(x, y)) => Smokes(x) */ AS (
  SELECT
    "o0"."a0",
    1 AS "n"
  FROM "Smokes_atoms" AS "o0"
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "Smokes_atoms"
  UNION ALL
  SELECT
    "a0",
    0.75E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
  UNION ALL
  SELECT
    "a0",
    -2.0E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_2"
  UNION ALL
  SELECT
    "a0",
    2.0E0 * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_3"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    CAST(SUM("log_odds") AS REAL) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
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

