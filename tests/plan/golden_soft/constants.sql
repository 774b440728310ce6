-- 1: C(A, 'b') & R(A, 'b') -> Q('b')

SELECT
  "p"."clause" AS "clause",
  "o2"."atom" AS "l0",
  "t1"."atom" AS "l1",
  CAST(0.0 AS DOUBLE) + "t1"."value" AS "constant",
  COUNT(*) AS "multiplicity"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
INNER JOIN "memory"."sqlrl"."fact_C" AS "t0"
  ON "t0"."a1" = "p"."k0"
INNER JOIN (
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
) AS "t1"
  ON "t1"."a0" = "t0"."a0" AND "t1"."a1" = "p"."k2"
INNER JOIN "memory"."sqlrl"."atom_Q" AS "o2"
  ON "o2"."a0" = "p"."k1"
WHERE
  CAST(0.0 AS DOUBLE) + "t1"."value" + CASE WHEN "t1"."atom" > 0 THEN CAST(1.0 AS DOUBLE) ELSE CAST(0.0 AS DOUBLE) END > CAST(0.0 AS DOUBLE)
GROUP BY
  "p"."clause",
  "o2"."atom",
  "t1"."atom",
  CAST(0.0 AS DOUBLE) + "t1"."value";
