-- pair: pair(x, y) :- person(x), person(y), !parent("Ann", x).

SELECT DISTINCT
  "t0"."a0" AS "a0",
  "t1"."a0" AS "a1"
FROM "memory"."sqlrl"."fact_person" AS "t0"
CROSS JOIN "memory"."sqlrl"."fact_person" AS "t1"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_parent" AS "n0"
    WHERE
      "n0"."a0" = 0 AND "n0"."a1" = "t0"."a0"
  );
