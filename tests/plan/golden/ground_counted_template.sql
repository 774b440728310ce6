-- ground: Token(+w, p, c) ^ Token(v, q, c) => InField(c, +f, r)

WITH "m0" AS (
  SELECT
    "f0w"."a2" AS "s0",
    "f0w"."a0" AS "s1",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "f0"."a0",
      "f0"."a1",
      "f0"."a2"
    FROM "memory"."sqlrl"."fact_Token" AS "f0"
    WHERE
      "f0"."a0" IN (
        SELECT
          "k1"
        FROM "memory"."sqlrl"."scratch_parameter"
      )
  ) AS "f0w"
  GROUP BY
    "f0w"."a2",
    "f0w"."a0"
), "m1" AS (
  SELECT
    "f1"."a2" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f1"
  GROUP BY
    "f1"."a2"
)
SELECT
  "p"."clause" AS "clause",
  "o0"."atom" AS "l0",
  "m0"."n" * "m1"."n" AS "multiplicity"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
INNER JOIN "m0" AS "m0"
  ON "m0"."s1" = "p"."k1"
INNER JOIN "m1" AS "m1"
  ON "m1"."s0" = "m0"."s0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a0" = "m0"."s0" AND "o0"."a1" = "p"."k0";
