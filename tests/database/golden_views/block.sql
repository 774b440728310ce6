-- ---- duckdb
-- The probability of each atom of InField(bib, field, position), by a model that sqlrl exported.
-- Columns: bib, field, position; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "InField": ("column0", "column1", "column2") what is given of InField
--   "Token": ("column0", "column1", "column2") facts of Token
CREATE VIEW "infield_scores" AS
WITH "InField_given" /* what is given of InField */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1",
    CAST("t"."column2" AS TEXT) AS "a2",
    1 AS "known"
  FROM "InField" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
    AND NOT "t"."column1" IS NULL
    AND NOT "t"."column2" IS NULL
), "Token_facts" /* facts of Token */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1",
    CAST("t"."column2" AS TEXT) AS "a2"
  FROM "Token" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
    AND NOT "t"."column1" IS NULL
    AND NOT "t"."column2" IS NULL
), "bib_constants" /* all constants of bib */ AS (
  SELECT
    "a0" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "a2" AS "id"
  FROM "Token_facts"
), "field_listed"("id") /* constants of field */ AS (
  VALUES
    ('Author'),
    ('Title')
), "field_constants" /* all constants of field */ AS (
  SELECT
    "a1" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "id"
  FROM "field_listed"
), "examples" /* the examples */ AS (
  SELECT
    "id" AS "example"
  FROM "bib_constants"
), "position_domain" /* constants of position in each example */ AS (
  SELECT
    "a0" AS "example",
    "a2" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "a2" AS "example",
    "a1" AS "id"
  FROM "Token_facts"
), "InField_atoms" /* atoms of InField */ AS (
  SELECT
    "s"."a0",
    "s"."a1",
    "s"."a2"
  FROM (
    SELECT
      "e"."example" AS "a0",
      "d1"."id" AS "a1",
      "d2"."id" AS "a2"
    FROM "examples" AS "e"
    CROSS JOIN "field_constants" AS "d1"
    INNER JOIN "position_domain" AS "d2"
      ON "d2"."example" = "e"."example"
  ) AS "s"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "InField_given" AS "g"
      WHERE
        "g"."a0" = "s"."a0" AND "g"."a1" = "s"."a1" AND "g"."a2" = "s"."a2"
    )
), "rule_1_constants"("weight", "k0") /* constants of the clauses, each with its weight */ AS (
  VALUES
    (1.5E0, 'Author')
), "rule_1_m0" AS (
  SELECT
    "f1"."a2" AS "s0",
    "f1"."a0" AS "s1",
    COUNT(*) AS "n"
  FROM "Token_facts" AS "f1"
  GROUP BY
    "f1"."a2",
    "f1"."a0"
), "rule_1_m1" AS (
  SELECT
    "f0"."a2" AS "s0",
    "f0"."a1" AS "s1",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "Token_facts" AS "f0"
  INNER JOIN "rule_1_m0" AS "m0"
    ON "m0"."s0" = "f0"."a2" AND "m0"."s1" = "f0"."a0"
  GROUP BY
    "f0"."a2",
    "f0"."a1"
), "rule_1" /* 1.5 Token(w, p, c) ^ Token(w, q, c) => InField(c, Author, p) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight",
    CAST(SUM("m1"."n") AS BIGINT) AS "n"
  FROM "rule_1_constants" AS "p"
  CROSS JOIN "rule_1_m1" AS "m1"
  INNER JOIN "InField_atoms" AS "o0"
    ON "o0"."a0" = "m1"."s0" AND "o0"."a1" = "p"."k0" AND "o0"."a2" = "m1"."s1"
  GROUP BY
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight"
), "rule_2_constants"("weight", "k0") /* constants of the clauses, each with its weight */ AS (
  VALUES
    (-0.5E0, 'Title')
), "rule_2" /* -0.5 InField(c, Title, p) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight",
    COUNT(*) AS "n"
  FROM "rule_2_constants" AS "p"
  INNER JOIN "InField_atoms" AS "o0"
    ON "o0"."a1" = "p"."k0"
  INNER JOIN "position_domain" AS "d0"
    ON "d0"."example" = "o0"."a0" AND "d0"."id" = "o0"."a2"
  GROUP BY
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight"
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "InField_atoms"
  UNION ALL
  SELECT
    "a0",
    "a1",
    "a2",
    CAST("weight" AS DOUBLE) * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
  UNION ALL
  SELECT
    "a0",
    "a1",
    "a2",
    CAST("weight" AS DOUBLE) * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_2"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    CAST(SUM("log_odds") AS DOUBLE) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0",
    "a1",
    "a2"
), "states" /* states of blocks: one is true */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    1 AS "state",
    "score",
    "must",
    "must_not"
  FROM "scores"
  UNION ALL
  SELECT
    "a0",
    CAST(NULL AS TEXT) AS "a1",
    "a2",
    0 AS "state",
    0.0E0 AS "score",
    1 AS "must",
    0 AS "must_not"
  FROM (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "InField_given"
    WHERE
      "known" = 1
  ) AS "g"
), "ranked" /* the states of each block, likeliest first */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    ROW_NUMBER() OVER (
      PARTITION BY "a0", "a2"
      ORDER BY "must_not", "score" DESC, COALESCE("a0", ''), COALESCE("a1", ''), COALESCE("a2", '')
    ) AS "place"
  FROM "states"
), "compared" /* the first and second score of each block, and how many must be true */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    "place",
    MAX(CASE WHEN "must_not" = 0 THEN "score" END) OVER (PARTITION BY "a0", "a2") AS "first",
    MAX(CASE WHEN "must_not" = 0 AND "place" > 1 THEN "score" END) OVER (PARTITION BY "a0", "a2") AS "second",
    SUM("must") OVER (PARTITION BY "a0", "a2") AS "musts",
    MAX("must" * "must_not") OVER (PARTITION BY "a0", "a2") AS "contradiction"
  FROM "ranked"
), "summed" /* sums of exp(score) below the first, relative to the first and to the second */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    "place",
    "first",
    "second",
    "musts",
    "contradiction",
    SUM(
      CASE
        WHEN "must_not" = 0 AND "place" > 1
        THEN CASE
          WHEN (
            "score" - "first"
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP("score" - "first")
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY "a0", "a2") AS "below_first",
    SUM(
      CASE
        WHEN "must_not" = 0 AND "place" > 1
        THEN CASE
          WHEN (
            "score" - "second"
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP("score" - "second")
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY "a0", "a2") AS "below_second"
  FROM "compared"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    CASE
      WHEN "contradiction" = 1 OR "musts" > 1 OR "first" IS NULL
      THEN NULL
      WHEN "musts" = 1
      THEN CASE
        WHEN "must" = 1
        THEN CAST('Infinity' AS DOUBLE)
        ELSE -CAST('Infinity' AS DOUBLE)
      END
      WHEN "must_not" = 1
      THEN -CAST('Infinity' AS DOUBLE)
      WHEN "place" = 1 AND "second" IS NULL
      THEN CAST('Infinity' AS DOUBLE)
      WHEN "place" = 1
      THEN "score" - "second" - LN("below_second")
      ELSE "score" - "first" - LN(
        1.0E0 + (
          "below_first" - CASE
            WHEN (
              "score" - "first"
            ) < -700.0E0
            THEN 0.0E0
            ELSE EXP("score" - "first")
          END
        )
      )
    END AS "log_odds"
  FROM "summed"
  WHERE
    "state" = 1
)
SELECT
  "a0" AS "bib",
  "a1" AS "field",
  "a2" AS "position",
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
-- The probability of each atom of InField(bib, field, position), by a model that sqlrl exported.
-- Columns: bib, field, position; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "InField": ("column0", "column1", "column2") what is given of InField
--   "Token": ("column0", "column1", "column2") facts of Token
-- ANALYZE the tables once they are filled: without statistics PostgreSQL may join them in an order that takes hours.
CREATE VIEW "infield_scores" AS
WITH "InField_given" /* what is given of InField */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1",
    CAST("t"."column2" AS TEXT) AS "a2",
    1 AS "known"
  FROM "InField" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
    AND NOT "t"."column1" IS NULL
    AND NOT "t"."column2" IS NULL
), "Token_facts" /* facts of Token */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1",
    CAST("t"."column2" AS TEXT) AS "a2"
  FROM "Token" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
    AND NOT "t"."column1" IS NULL
    AND NOT "t"."column2" IS NULL
), "bib_constants" /* all constants of bib */ AS (
  SELECT
    "a0" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "a2" AS "id"
  FROM "Token_facts"
), "field_listed"("id") /* constants of field */ AS (
  VALUES
    ('Author'),
    ('Title')
), "field_constants" /* all constants of field */ AS (
  SELECT
    "a1" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "id"
  FROM "field_listed"
), "examples" /* the examples */ AS (
  SELECT
    "id" AS "example"
  FROM "bib_constants"
), "position_domain" /* constants of position in each example */ AS (
  SELECT
    "a0" AS "example",
    "a2" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "a2" AS "example",
    "a1" AS "id"
  FROM "Token_facts"
), "InField_atoms" /* atoms of InField */ AS (
  SELECT
    "s"."a0",
    "s"."a1",
    "s"."a2"
  FROM (
    SELECT
      "e"."example" AS "a0",
      "d1"."id" AS "a1",
      "d2"."id" AS "a2"
    FROM "examples" AS "e"
    CROSS JOIN "field_constants" AS "d1"
    INNER JOIN "position_domain" AS "d2"
      ON "d2"."example" = "e"."example"
  ) AS "s"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "InField_given" AS "g"
      WHERE
        "g"."a0" = "s"."a0" AND "g"."a1" = "s"."a1" AND "g"."a2" = "s"."a2"
    )
), "rule_1_constants"("weight", "k0") /* constants of the clauses, each with its weight */ AS (
  VALUES
    (1.5E0, 'Author')
), "rule_1_m0" AS (
  SELECT
    "f1"."a2" AS "s0",
    "f1"."a0" AS "s1",
    COUNT(*) AS "n"
  FROM "Token_facts" AS "f1"
  GROUP BY
    "f1"."a2",
    "f1"."a0"
), "rule_1_m1" AS (
  SELECT
    "f0"."a2" AS "s0",
    "f0"."a1" AS "s1",
    CAST(SUM("m0"."n") AS BIGINT) AS "n"
  FROM "Token_facts" AS "f0"
  INNER JOIN "rule_1_m0" AS "m0"
    ON "m0"."s0" = "f0"."a2" AND "m0"."s1" = "f0"."a0"
  GROUP BY
    "f0"."a2",
    "f0"."a1"
), "rule_1" /* 1.5 Token(w, p, c) ^ Token(w, q, c) => InField(c, Author, p) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight",
    CAST(SUM("m1"."n") AS BIGINT) AS "n"
  FROM "rule_1_constants" AS "p"
  CROSS JOIN "rule_1_m1" AS "m1"
  INNER JOIN "InField_atoms" AS "o0"
    ON "o0"."a0" = "m1"."s0" AND "o0"."a1" = "p"."k0" AND "o0"."a2" = "m1"."s1"
  GROUP BY
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight"
), "rule_2_constants"("weight", "k0") /* constants of the clauses, each with its weight */ AS (
  VALUES
    (-0.5E0, 'Title')
), "rule_2" /* -0.5 InField(c, Title, p) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight",
    COUNT(*) AS "n"
  FROM "rule_2_constants" AS "p"
  INNER JOIN "InField_atoms" AS "o0"
    ON "o0"."a1" = "p"."k0"
  INNER JOIN "position_domain" AS "d0"
    ON "d0"."example" = "o0"."a0" AND "d0"."id" = "o0"."a2"
  GROUP BY
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight"
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "InField_atoms"
  UNION ALL
  SELECT
    "a0",
    "a1",
    "a2",
    CAST("weight" AS DOUBLE PRECISION) * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
  UNION ALL
  SELECT
    "a0",
    "a1",
    "a2",
    CAST("weight" AS DOUBLE PRECISION) * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_2"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    CAST(SUM("log_odds") AS DOUBLE PRECISION) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0",
    "a1",
    "a2"
), "states" /* states of blocks: one is true */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    1 AS "state",
    "score",
    "must",
    "must_not"
  FROM "scores"
  UNION ALL
  SELECT
    "a0",
    CAST(NULL AS TEXT) AS "a1",
    "a2",
    0 AS "state",
    0.0E0 AS "score",
    1 AS "must",
    0 AS "must_not"
  FROM (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "InField_given"
    WHERE
      "known" = 1
  ) AS "g"
), "ranked" /* the states of each block, likeliest first */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    ROW_NUMBER() OVER (
      PARTITION BY "a0", "a2"
      ORDER BY "must_not", "score" DESC NULLS LAST, COALESCE("a0", ''), COALESCE("a1", ''), COALESCE("a2", '')
    ) AS "place"
  FROM "states"
), "compared" /* the first and second score of each block, and how many must be true */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    "place",
    MAX(CASE WHEN "must_not" = 0 THEN "score" END) OVER (PARTITION BY "a0", "a2") AS "first",
    MAX(CASE WHEN "must_not" = 0 AND "place" > 1 THEN "score" END) OVER (PARTITION BY "a0", "a2") AS "second",
    SUM("must") OVER (PARTITION BY "a0", "a2") AS "musts",
    MAX("must" * "must_not") OVER (PARTITION BY "a0", "a2") AS "contradiction"
  FROM "ranked"
), "summed" /* sums of exp(score) below the first, relative to the first and to the second */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    "place",
    "first",
    "second",
    "musts",
    "contradiction",
    SUM(
      CASE
        WHEN "must_not" = 0 AND "place" > 1
        THEN CASE
          WHEN (
            "score" - "first"
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP("score" - "first")
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY "a0", "a2") AS "below_first",
    SUM(
      CASE
        WHEN "must_not" = 0 AND "place" > 1
        THEN CASE
          WHEN (
            "score" - "second"
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP("score" - "second")
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY "a0", "a2") AS "below_second"
  FROM "compared"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    CASE
      WHEN "contradiction" = 1 OR "musts" > 1 OR "first" IS NULL
      THEN NULL
      WHEN "musts" = 1
      THEN CASE
        WHEN "must" = 1
        THEN CAST('Infinity' AS DOUBLE PRECISION)
        ELSE -CAST('Infinity' AS DOUBLE PRECISION)
      END
      WHEN "must_not" = 1
      THEN -CAST('Infinity' AS DOUBLE PRECISION)
      WHEN "place" = 1 AND "second" IS NULL
      THEN CAST('Infinity' AS DOUBLE PRECISION)
      WHEN "place" = 1
      THEN "score" - "second" - LN("below_second")
      ELSE "score" - "first" - LN(
        1.0E0 + (
          "below_first" - CASE
            WHEN (
              "score" - "first"
            ) < -700.0E0
            THEN 0.0E0
            ELSE EXP("score" - "first")
          END
        )
      )
    END AS "log_odds"
  FROM "summed"
  WHERE
    "state" = 1
)
SELECT
  "a0" AS "bib",
  "a1" AS "field",
  "a2" AS "position",
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
-- The probability of each atom of InField(bib, field, position), by a model that sqlrl exported.
-- Columns: bib, field, position; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   `InField`: (`column0`, `column1`, `column2`) what is given of InField
--   `Token`: (`column0`, `column1`, `column2`) facts of Token
CREATE VIEW `infield_scores` AS
WITH `InField_given` /* what is given of InField */ AS (
  SELECT DISTINCT
    CAST(`t`.`column0` AS STRING) AS `a0`,
    CAST(`t`.`column1` AS STRING) AS `a1`,
    CAST(`t`.`column2` AS STRING) AS `a2`,
    1 AS `known`
  FROM `InField` AS `t`
  WHERE
    NOT `t`.`column0` IS NULL
    AND NOT `t`.`column1` IS NULL
    AND NOT `t`.`column2` IS NULL
), `Token_facts` /* facts of Token */ AS (
  SELECT DISTINCT
    CAST(`t`.`column0` AS STRING) AS `a0`,
    CAST(`t`.`column1` AS STRING) AS `a1`,
    CAST(`t`.`column2` AS STRING) AS `a2`
  FROM `Token` AS `t`
  WHERE
    NOT `t`.`column0` IS NULL
    AND NOT `t`.`column1` IS NULL
    AND NOT `t`.`column2` IS NULL
), `bib_constants` /* all constants of bib */ AS (
  SELECT
    `a0` AS `id`
  FROM `InField_given`
  UNION
  SELECT
    `a2` AS `id`
  FROM `Token_facts`
), `field_listed`(`id`) /* constants of field */ AS (
  VALUES
    ('Author'),
    ('Title')
), `field_constants` /* all constants of field */ AS (
  SELECT
    `a1` AS `id`
  FROM `InField_given`
  UNION
  SELECT
    `id`
  FROM `field_listed`
), `examples` /* the examples */ AS (
  SELECT
    `id` AS `example`
  FROM `bib_constants`
), `position_domain` /* constants of position in each example */ AS (
  SELECT
    `a0` AS `example`,
    `a2` AS `id`
  FROM `InField_given`
  UNION
  SELECT
    `a2` AS `example`,
    `a1` AS `id`
  FROM `Token_facts`
), `InField_atoms` /* atoms of InField */ AS (
  SELECT
    `s`.`a0`,
    `s`.`a1`,
    `s`.`a2`
  FROM (
    SELECT
      `e`.`example` AS `a0`,
      `d1`.`id` AS `a1`,
      `d2`.`id` AS `a2`
    FROM `examples` AS `e`
    CROSS JOIN `field_constants` AS `d1`
    INNER JOIN `position_domain` AS `d2`
      ON `d2`.`example` = `e`.`example`
  ) AS `s`
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM `InField_given` AS `g`
      WHERE
        `g`.`a0` = `s`.`a0` AND `g`.`a1` = `s`.`a1` AND `g`.`a2` = `s`.`a2`
    )
), `rule_1_constants`(`weight`, `k0`) /* constants of the clauses, each with its weight */ AS (
  VALUES
    (1.5E0, 'Author')
), `rule_1_m0` AS (
  SELECT
    `f1`.`a2` AS `s0`,
    `f1`.`a0` AS `s1`,
    COUNT(*) AS `n`
  FROM `Token_facts` AS `f1`
  GROUP BY
    `f1`.`a2`,
    `f1`.`a0`
), `rule_1_m1` AS (
  SELECT
    `f0`.`a2` AS `s0`,
    `f0`.`a1` AS `s1`,
    CAST(SUM(`m0`.`n`) AS BIGINT) AS `n`
  FROM `Token_facts` AS `f0`
  INNER JOIN `rule_1_m0` AS `m0`
    ON `m0`.`s0` = `f0`.`a2` AND `m0`.`s1` = `f0`.`a0`
  GROUP BY
    `f0`.`a2`,
    `f0`.`a1`
), `rule_1` /* 1.5 Token(w, p, c) ^ Token(w, q, c) => InField(c, Author, p) */ AS (
  SELECT
    `o0`.`a0`,
    `o0`.`a1`,
    `o0`.`a2`,
    `p`.`weight`,
    CAST(SUM(`m1`.`n`) AS BIGINT) AS `n`
  FROM `rule_1_constants` AS `p`
  CROSS JOIN `rule_1_m1` AS `m1`
  INNER JOIN `InField_atoms` AS `o0`
    ON `o0`.`a0` = `m1`.`s0` AND `o0`.`a1` = `p`.`k0` AND `o0`.`a2` = `m1`.`s1`
  GROUP BY
    `o0`.`a0`,
    `o0`.`a1`,
    `o0`.`a2`,
    `p`.`weight`
), `rule_2_constants`(`weight`, `k0`) /* constants of the clauses, each with its weight */ AS (
  VALUES
    (-0.5E0, 'Title')
), `rule_2` /* -0.5 InField(c, Title, p) */ AS (
  SELECT
    `o0`.`a0`,
    `o0`.`a1`,
    `o0`.`a2`,
    `p`.`weight`,
    COUNT(*) AS `n`
  FROM `rule_2_constants` AS `p`
  INNER JOIN `InField_atoms` AS `o0`
    ON `o0`.`a1` = `p`.`k0`
  INNER JOIN `position_domain` AS `d0`
    ON `d0`.`example` = `o0`.`a0` AND `d0`.`id` = `o0`.`a2`
  GROUP BY
    `o0`.`a0`,
    `o0`.`a1`,
    `o0`.`a2`,
    `p`.`weight`
), `evidence` /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    0.0E0 AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `InField_atoms`
  UNION ALL
  SELECT
    `a0`,
    `a1`,
    `a2`,
    CAST(`weight` AS DOUBLE) * `n` AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `rule_1`
  UNION ALL
  SELECT
    `a0`,
    `a1`,
    `a2`,
    CAST(`weight` AS DOUBLE) * `n` AS `log_odds`,
    0 AS `must`,
    0 AS `must_not`
  FROM `rule_2`
), `scores` /* weighted counts */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    CAST(SUM(`log_odds`) AS DOUBLE) AS `score`,
    MAX(`must`) AS `must`,
    MAX(`must_not`) AS `must_not`
  FROM `evidence`
  GROUP BY
    `a0`,
    `a1`,
    `a2`
), `states` /* states of blocks: one is true */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    1 AS `state`,
    `score`,
    `must`,
    `must_not`
  FROM `scores`
  UNION ALL
  SELECT
    `a0`,
    CAST(NULL AS STRING) AS `a1`,
    `a2`,
    0 AS `state`,
    0.0E0 AS `score`,
    1 AS `must`,
    0 AS `must_not`
  FROM (
    SELECT
      `a0`,
      `a1`,
      `a2`
    FROM `InField_given`
    WHERE
      `known` = 1
  ) AS `g`
), `ranked` /* the states of each block, likeliest first */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    `state`,
    `score`,
    `must`,
    `must_not`,
    ROW_NUMBER() OVER (
      PARTITION BY `a0`, `a2`
      ORDER BY `must_not` NULLS LAST, `score` DESC, COALESCE(`a0`, '') NULLS LAST, COALESCE(`a1`, '') NULLS LAST, COALESCE(`a2`, '') NULLS LAST
    ) AS `place`
  FROM `states`
), `compared` /* the first and second score of each block, and how many must be true */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    `state`,
    `score`,
    `must`,
    `must_not`,
    `place`,
    MAX(CASE WHEN `must_not` = 0 THEN `score` END) OVER (PARTITION BY `a0`, `a2`) AS `first`,
    MAX(CASE WHEN `must_not` = 0 AND `place` > 1 THEN `score` END) OVER (PARTITION BY `a0`, `a2`) AS `second`,
    SUM(`must`) OVER (PARTITION BY `a0`, `a2`) AS `musts`,
    MAX(`must` * `must_not`) OVER (PARTITION BY `a0`, `a2`) AS `contradiction`
  FROM `ranked`
), `summed` /* sums of exp(score) below the first, relative to the first and to the second */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    `state`,
    `score`,
    `must`,
    `must_not`,
    `place`,
    `first`,
    `second`,
    `musts`,
    `contradiction`,
    SUM(
      CASE
        WHEN `must_not` = 0 AND `place` > 1
        THEN CASE
          WHEN (
            `score` - `first`
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP(`score` - `first`)
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY `a0`, `a2`) AS `below_first`,
    SUM(
      CASE
        WHEN `must_not` = 0 AND `place` > 1
        THEN CASE
          WHEN (
            `score` - `second`
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP(`score` - `second`)
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY `a0`, `a2`) AS `below_second`
  FROM `compared`
), `certain` /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    `a0`,
    `a1`,
    `a2`,
    CASE
      WHEN `contradiction` = 1 OR `musts` > 1 OR `first` IS NULL
      THEN NULL
      WHEN `musts` = 1
      THEN CASE
        WHEN `must` = 1
        THEN CAST('Infinity' AS DOUBLE)
        ELSE -CAST('Infinity' AS DOUBLE)
      END
      WHEN `must_not` = 1
      THEN -CAST('Infinity' AS DOUBLE)
      WHEN `place` = 1 AND `second` IS NULL
      THEN CAST('Infinity' AS DOUBLE)
      WHEN `place` = 1
      THEN `score` - `second` - LN(`below_second`)
      ELSE `score` - `first` - LN(
        1.0E0 + (
          `below_first` - CASE
            WHEN (
              `score` - `first`
            ) < -700.0E0
            THEN 0.0E0
            ELSE EXP(`score` - `first`)
          END
        )
      )
    END AS `log_odds`
  FROM `summed`
  WHERE
    `state` = 1
)
SELECT
  `a0` AS `bib`,
  `a1` AS `field`,
  `a2` AS `position`,
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
-- The probability of each atom of InField(bib, field, position), by a model that sqlrl exported.
-- Columns: bib, field, position; log_odds, of the atom being true: infinite where it is certain, NULL where hard rules
-- contradict each other; probability.
-- Reads, with constants as text, as sqlrl writes them:
--   "InField": ("column0", "column1", "column2") what is given of InField
--   "Token": ("column0", "column1", "column2") facts of Token
-- Needs SQLite 3.35 or later with its mathematical functions, as Python and the shell have it.
CREATE VIEW "infield_scores" AS
WITH "InField_given" /* what is given of InField */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1",
    CAST("t"."column2" AS TEXT) AS "a2",
    1 AS "known"
  FROM "InField" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
    AND NOT "t"."column1" IS NULL
    AND NOT "t"."column2" IS NULL
), "Token_facts" /* facts of Token */ AS (
  SELECT DISTINCT
    CAST("t"."column0" AS TEXT) AS "a0",
    CAST("t"."column1" AS TEXT) AS "a1",
    CAST("t"."column2" AS TEXT) AS "a2"
  FROM "Token" AS "t"
  WHERE
    NOT "t"."column0" IS NULL
    AND NOT "t"."column1" IS NULL
    AND NOT "t"."column2" IS NULL
), "bib_constants" /* all constants of bib */ AS (
  SELECT
    "a0" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "a2" AS "id"
  FROM "Token_facts"
), "field_listed"("id") /* constants of field */ AS (
  VALUES
    ('Author'),
    ('Title')
), "field_constants" /* all constants of field */ AS (
  SELECT
    "a1" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "id"
  FROM "field_listed"
), "examples" /* the examples */ AS (
  SELECT
    "id" AS "example"
  FROM "bib_constants"
), "position_domain" /* constants of position in each example */ AS (
  SELECT
    "a0" AS "example",
    "a2" AS "id"
  FROM "InField_given"
  UNION
  SELECT
    "a2" AS "example",
    "a1" AS "id"
  FROM "Token_facts"
), "InField_atoms" /* atoms of InField */ AS (
  SELECT
    "s"."a0",
    "s"."a1",
    "s"."a2"
  FROM (
    SELECT
      "e"."example" AS "a0",
      "d1"."id" AS "a1",
      "d2"."id" AS "a2"
    FROM "examples" AS "e"
    CROSS JOIN "field_constants" AS "d1"
    INNER JOIN "position_domain" AS "d2"
      ON "d2"."example" = "e"."example"
  ) AS "s"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "InField_given" AS "g"
      WHERE
        "g"."a0" = "s"."a0" AND "g"."a1" = "s"."a1" AND "g"."a2" = "s"."a2"
    )
), "rule_1_constants"("weight", "k0") /* constants of the clauses, each with its weight */ AS (
  VALUES
    (1.5E0, 'Author')
), "rule_1_m0" AS (
  SELECT
    "f1"."a2" AS "s0",
    "f1"."a0" AS "s1",
    COUNT(*) AS "n"
  FROM "Token_facts" AS "f1"
  GROUP BY
    "f1"."a2",
    "f1"."a0"
), "rule_1_m1" AS (
  SELECT
    "f0"."a2" AS "s0",
    "f0"."a1" AS "s1",
    CAST(SUM("m0"."n") AS INTEGER) AS "n"
  FROM "Token_facts" AS "f0"
  INNER JOIN "rule_1_m0" AS "m0"
    ON "m0"."s0" = "f0"."a2" AND "m0"."s1" = "f0"."a0"
  GROUP BY
    "f0"."a2",
    "f0"."a1"
), "rule_1" /* 1.5 Token(w, p, c) ^ Token(w, q, c) => InField(c, Author, p) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight",
    CAST(SUM("m1"."n") AS INTEGER) AS "n"
  FROM "rule_1_constants" AS "p"
  CROSS JOIN "rule_1_m1" AS "m1"
  INNER JOIN "InField_atoms" AS "o0"
    ON "o0"."a0" = "m1"."s0" AND "o0"."a1" = "p"."k0" AND "o0"."a2" = "m1"."s1"
  GROUP BY
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight"
), "rule_2_constants"("weight", "k0") /* constants of the clauses, each with its weight */ AS (
  VALUES
    (-0.5E0, 'Title')
), "rule_2" /* -0.5 InField(c, Title, p) */ AS (
  SELECT
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight",
    COUNT(*) AS "n"
  FROM "rule_2_constants" AS "p"
  INNER JOIN "InField_atoms" AS "o0"
    ON "o0"."a1" = "p"."k0"
  INNER JOIN "position_domain" AS "d0"
    ON "d0"."example" = "o0"."a0" AND "d0"."id" = "o0"."a2"
  GROUP BY
    "o0"."a0",
    "o0"."a1",
    "o0"."a2",
    "p"."weight"
), "evidence" /* what each clause says of each atom: log-odds, and whether a hard one makes it true or false */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    0.0E0 AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "InField_atoms"
  UNION ALL
  SELECT
    "a0",
    "a1",
    "a2",
    CAST("weight" AS REAL) * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_1"
  UNION ALL
  SELECT
    "a0",
    "a1",
    "a2",
    CAST("weight" AS REAL) * "n" AS "log_odds",
    0 AS "must",
    0 AS "must_not"
  FROM "rule_2"
), "scores" /* weighted counts */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    CAST(SUM("log_odds") AS REAL) AS "score",
    MAX("must") AS "must",
    MAX("must_not") AS "must_not"
  FROM "evidence"
  GROUP BY
    "a0",
    "a1",
    "a2"
), "states" /* states of blocks: one is true */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    1 AS "state",
    "score",
    "must",
    "must_not"
  FROM "scores"
  UNION ALL
  SELECT
    "a0",
    CAST(NULL AS TEXT) AS "a1",
    "a2",
    0 AS "state",
    0.0E0 AS "score",
    1 AS "must",
    0 AS "must_not"
  FROM (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "InField_given"
    WHERE
      "known" = 1
  ) AS "g"
), "ranked" /* the states of each block, likeliest first */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    ROW_NUMBER() OVER (
      PARTITION BY "a0", "a2"
      ORDER BY "must_not" NULLS LAST, "score" DESC, COALESCE("a0", '') NULLS LAST, COALESCE("a1", '') NULLS LAST, COALESCE("a2", '') NULLS LAST
    ) AS "place"
  FROM "states"
), "compared" /* the first and second score of each block, and how many must be true */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    "place",
    MAX(CASE WHEN "must_not" = 0 THEN "score" END) OVER (PARTITION BY "a0", "a2") AS "first",
    MAX(CASE WHEN "must_not" = 0 AND "place" > 1 THEN "score" END) OVER (PARTITION BY "a0", "a2") AS "second",
    SUM("must") OVER (PARTITION BY "a0", "a2") AS "musts",
    MAX("must" * "must_not") OVER (PARTITION BY "a0", "a2") AS "contradiction"
  FROM "ranked"
), "summed" /* sums of exp(score) below the first, relative to the first and to the second */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    "state",
    "score",
    "must",
    "must_not",
    "place",
    "first",
    "second",
    "musts",
    "contradiction",
    SUM(
      CASE
        WHEN "must_not" = 0 AND "place" > 1
        THEN CASE
          WHEN (
            "score" - "first"
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP("score" - "first")
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY "a0", "a2") AS "below_first",
    SUM(
      CASE
        WHEN "must_not" = 0 AND "place" > 1
        THEN CASE
          WHEN (
            "score" - "second"
          ) < -700.0E0
          THEN 0.0E0
          ELSE EXP("score" - "second")
        END
        ELSE 0.0E0
      END
    ) OVER (PARTITION BY "a0", "a2") AS "below_second"
  FROM "compared"
), "certain" /* log-odds; NULL where hard rules contradict each other */ AS (
  SELECT
    "a0",
    "a1",
    "a2",
    CASE
      WHEN "contradiction" = 1 OR "musts" > 1 OR "first" IS NULL
      THEN NULL
      WHEN "musts" = 1
      THEN CASE WHEN "must" = 1 THEN 9E999 ELSE -9E999 END
      WHEN "must_not" = 1
      THEN -9E999
      WHEN "place" = 1 AND "second" IS NULL
      THEN 9E999
      WHEN "place" = 1
      THEN "score" - "second" - LN("below_second")
      ELSE "score" - "first" - LN(
        1.0E0 + (
          "below_first" - CASE
            WHEN (
              "score" - "first"
            ) < -700.0E0
            THEN 0.0E0
            ELSE EXP("score" - "first")
          END
        )
      )
    END AS "log_odds"
  FROM "summed"
  WHERE
    "state" = 1
)
SELECT
  "a0" AS "bib",
  "a1" AS "field",
  "a2" AS "position",
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

