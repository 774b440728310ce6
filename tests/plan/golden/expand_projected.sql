-- expand: InField(c, +f, p) ^ Next(p, q) => InField(c, +f, q)

WITH "m0" AS (
  SELECT DISTINCT
    "o0"."a0" AS "s0",
    "t0"."a1" AS "s1",
    "o0"."a1" AS "s2"
  FROM "memory"."sqlrl"."fact_Next" AS "t0"
  INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
    ON "o0"."a2" = "t0"."a0"
  INNER JOIN "memory"."sqlrl"."atom_InField" AS "o1"
    ON "o1"."a0" = "o0"."a0" AND "o1"."a1" = "o0"."a1" AND "o1"."a2" = "t0"."a1"
  WHERE
    "t0"."a0" <> "t0"."a1"
)
SELECT DISTINCT
  "m0"."s2" AS "plus0"
FROM "m0" AS "m0";
