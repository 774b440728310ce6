-- 1: !R(A, B)

SELECT
  "t0"."atom" AS "l0",
  CAST(0.0 AS DOUBLE) + "t0"."value" AS "constant",
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
WHERE
  CAST(0.0 AS DOUBLE) + "t0"."value" + CASE WHEN "t0"."atom" > 0 THEN CAST(1.0 AS DOUBLE) ELSE CAST(0.0 AS DOUBLE) END > CAST(0.0 AS DOUBLE)
GROUP BY
  "t0"."atom",
  CAST(0.0 AS DOUBLE) + "t0"."value";
