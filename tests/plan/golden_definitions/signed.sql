-- sad: sad(x) :- happy(x), parent(x, y), !happy(y).

SELECT DISTINCT
  "t0"."a0" AS "a0"
FROM "memory"."sqlrl"."fact_happy" AS "t0"
INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
  ON "t1"."a0" = "t0"."a0"
WHERE
  "t0"."truth"
  AND NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_happy" AS "n0"
    WHERE
      "n0"."truth" AND "n0"."a0" = "t1"."a1"
  );
