-- 1: P(A, B)

SELECT
  "o0"."atom" AS "l0",
  CAST(1.0 AS DOUBLE) AS "constant"
FROM "memory"."sqlrl"."atom_P" AS "o0";
