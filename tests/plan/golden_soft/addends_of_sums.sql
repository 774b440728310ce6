-- 1: R(A, +B) / |B| <= Q(A) {B: C(A, B) & !D(B) | B == 'a'}

SELECT
  "b"."binding",
  "s"."atom",
  "s"."value" AS "value",
  "s"."a1" AS "v1"
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
  ON "s"."a0" = "b"."v0"
WHERE
  (
    (
      EXISTS(
        SELECT
          1
        FROM (
          SELECT
            "a0",
            "a1",
            CAST(1.0 AS DOUBLE) AS "value"
          FROM "memory"."sqlrl"."fact_C"
        ) AS "f"
        WHERE
          "f"."a0" = "b"."v0" AND "f"."a1" = "s"."a1"
      )
      AND NOT EXISTS(
        SELECT
          1
        FROM (
          SELECT
            "a0",
            CAST(1.0 AS DOUBLE) AS "value"
          FROM "memory"."sqlrl"."fact_D"
        ) AS "f"
        WHERE
          "f"."a0" = "s"."a1"
      )
    )
    OR "s"."a1" = "b"."k0"
  );
