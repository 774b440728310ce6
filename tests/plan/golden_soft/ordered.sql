-- 1: Q(A) & Q(B) & (A % B) -> P(A, B)

SELECT
  COALESCE("o2"."atom", 0) AS "l0",
  "t0"."atom" AS "l1",
  "t1"."atom" AS "l2",
  CAST(-1.0 AS DOUBLE) AS "constant"
FROM "memory"."sqlrl"."atom_Q" AS "t0"
CROSS JOIN "memory"."sqlrl"."atom_Q" AS "t1"
LEFT JOIN "memory"."sqlrl"."atom_P" AS "o2"
  ON "o2"."a0" = "t0"."a0" AND "o2"."a1" = "t1"."a0"
WHERE
  "t0"."a0" < "t1"."a0";
