-- 1: R(A, B) = R(B, A)

SELECT
  "b"."binding",
  "s"."atom",
  "s"."value" AS "value"
FROM "memory"."sqlrl"."scratch_bindings" AS "b"
JOIN (
  SELECT
    "a0",
    "a1",
    "atom",
    CAST(0.0 AS DOUBLE) AS "value"
  FROM "memory"."sqlrl"."atom_R"
  UNION ALL
  SELECT
    "a0",
    "a1",
    CAST(0 AS BIGINT) AS "atom",
    "value" AS "value"
  FROM "memory"."sqlrl"."fact_R"
  WHERE
    "given"
) AS "s"
  ON "s"."a0" = "b"."v0" AND "s"."a1" = "b"."v1";
