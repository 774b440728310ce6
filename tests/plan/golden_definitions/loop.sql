-- loop: loop(x) :- parent(x, x).

SELECT DISTINCT
  "t0"."a0" AS "a0"
FROM "memory"."sqlrl"."fact_parent" AS "t0"
WHERE
  "t0"."a1" = "t0"."a0";
