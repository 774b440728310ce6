-- 1: C(A, B) & P(A, B) -> Q(B) ^2

SELECT
  "t1"."atom" AS "l0",
  "o2"."atom" AS "l1",
  CAST(0.0 AS DOUBLE) AS "constant"
FROM "memory"."sqlrl"."fact_C" AS "t0"
INNER JOIN "memory"."sqlrl"."atom_P" AS "t1"
  ON "t1"."a0" = "t0"."a0" AND "t1"."a1" = "t0"."a1"
INNER JOIN "memory"."sqlrl"."atom_Q" AS "o2"
  ON "o2"."a0" = "t0"."a1";
