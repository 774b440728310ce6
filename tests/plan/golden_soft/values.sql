-- 1: V(A, B) & R(A, B) -> V(B, A) ^2

SELECT
  "t0"."atom" AS "l0",
  CAST(-1.0 AS DOUBLE) + "t0"."value" + "t1"."value" + -COALESCE("o2"."value", CAST(0.0 AS DOUBLE)) AS "constant",
  COUNT(*) AS "multiplicity"
FROM (
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
    "given" AND "value" > CAST(0.0 AS DOUBLE)
) AS "t0"
INNER JOIN (
  SELECT
    "a0",
    "a1",
    "value" AS "value"
  FROM "memory"."sqlrl"."fact_V"
  WHERE
    "value" > CAST(0.0 AS DOUBLE)
) AS "t1"
  ON "t1"."a0" = "t0"."a0" AND "t1"."a1" = "t0"."a1"
LEFT JOIN (
  SELECT
    "a0",
    "a1",
    "value" AS "value"
  FROM "memory"."sqlrl"."fact_V"
  WHERE
    "value" > CAST(0.0 AS DOUBLE)
) AS "o2"
  ON "o2"."a0" = "t0"."a1" AND "o2"."a1" = "t0"."a0"
WHERE
  CAST(-1.0 AS DOUBLE) + "t0"."value" + "t1"."value" + -COALESCE("o2"."value", CAST(0.0 AS DOUBLE)) + CASE WHEN "t0"."atom" > 0 THEN CAST(1.0 AS DOUBLE) ELSE CAST(0.0 AS DOUBLE) END > CAST(0.0 AS DOUBLE)
GROUP BY
  "t0"."atom",
  CAST(-1.0 AS DOUBLE) + "t0"."value" + "t1"."value" + -COALESCE("o2"."value", CAST(0.0 AS DOUBLE));
