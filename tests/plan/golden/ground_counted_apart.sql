-- ground: 1 Friends(z, w) ^ Cancer(x) => Cancer(Anna)

WITH "m0" AS (
  SELECT
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
)
SELECT
  "p"."clause" AS "clause",
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1",
  "m0"."n" AS "multiplicity"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
CROSS JOIN "m0" AS "m0"
CROSS JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o1"
  ON "o1"."a0" = "p"."k0"
WHERE
  "m0"."n" > 0 AND "o0"."a0" <> "p"."k0";
