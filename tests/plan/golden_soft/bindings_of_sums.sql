-- 1: R(A, +B) + V(A, 'b') <= 1 {B: C(A, B)}

SELECT
  ROW_NUMBER() OVER (ORDER BY "q"."v0", "q"."k0") - 1 AS "binding",
  "q"."v0",
  "q"."k0"
FROM (
  SELECT DISTINCT
    "b"."v0",
    "b"."k0"
  FROM (
    SELECT
      "o0"."a0" AS "v0",
      "p"."k0" AS "k0"
    FROM "memory"."sqlrl"."scratch_row" AS "p"
    CROSS JOIN (
      SELECT DISTINCT
        "s"."a0"
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
      ) AS "s"
    ) AS "o0"
  ) AS "b"
) AS "q";
