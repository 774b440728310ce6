-- 1: R(A, B) = R(B, A)

SELECT
  ROW_NUMBER() OVER (ORDER BY "q"."v0", "q"."v1") - 1 AS "binding",
  "q"."v0",
  "q"."v1"
FROM (
  SELECT DISTINCT
    "b"."v0",
    "b"."v1"
  FROM (
    SELECT
      "o0"."a0" AS "v0",
      "o0"."a1" AS "v1"
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
        "given"
    ) AS "o0"
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
        "given"
    ) AS "o1"
      ON "o1"."a0" = "o0"."a1" AND "o1"."a1" = "o0"."a0"
  ) AS "b"
) AS "q";
