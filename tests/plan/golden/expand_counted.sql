-- expand: Token(+w, p, c) ^ Token(v, q, d) => InField(c, +f, p)

WITH "m0" AS (
  SELECT
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."fact_Token" AS "f0"
)
SELECT DISTINCT
  "t0"."a0" AS "plus0",
  "o0"."a1" AS "plus1"
FROM "memory"."sqlrl"."fact_Token" AS "t0"
CROSS JOIN "m0" AS "m0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a0" = "t0"."a2" AND "o0"."a2" = "t0"."a1"
WHERE
  "m0"."n" > 0;
