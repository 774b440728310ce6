-- scoped: Token(+w, p, c) => InField(c, +f, r)

SELECT
  "g"."clause",
  "g"."l0",
  "g"."multiplicity"
FROM (
  WITH "m0" AS (
    SELECT
      "f0w"."a2" AS "s0",
      "f0w"."a0" AS "s1",
      COUNT(*) AS "n"
    FROM (
      SELECT
        "f0"."a0",
        "f0"."a1",
        "f0"."a2"
      FROM "memory"."sqlrl"."fact_Token" AS "f0"
      WHERE
        "f0"."a0" IN (
          SELECT
            "k1"
          FROM "memory"."sqlrl"."scratch_parameter"
        )
    ) AS "f0w"
    GROUP BY
      "f0w"."a2",
      "f0w"."a0"
  )
  SELECT
    "p"."clause" AS "clause",
    "o0"."atom" AS "l0",
    "m0"."n" AS "multiplicity"
  FROM "memory"."sqlrl"."scratch_parameter" AS "p"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s1" = "p"."k1"
  INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
    ON "o0"."a0" = "m0"."s0" AND "o0"."a1" = "p"."k0"
  UNION ALL
  SELECT
    "q"."clause",
    0 AS "l0",
    "q"."n" AS "multiplicity"
  FROM (
    WITH "m0" AS (
      SELECT
        "d1"."example" AS "s0",
        COUNT(*) AS "n"
      FROM "memory"."sqlrl"."domain_position" AS "d1"
      GROUP BY
        "d1"."example"
    ), "m1" AS (
      SELECT
        "f0"."a2" AS "s0",
        "f0"."a0" AS "s1",
        COUNT(*) AS "n"
      FROM "memory"."sqlrl"."fact_Token" AS "f0"
      GROUP BY
        "f0"."a2",
        "f0"."a0"
    ), "m2" AS (
      SELECT
        "m1"."s1" AS "s0",
        CAST(SUM("m0"."n" * "m1"."n") AS BIGINT) AS "n"
      FROM "m0" AS "m0"
      INNER JOIN "m1" AS "m1"
        ON "m1"."s0" = "m0"."s0"
      GROUP BY
        "m1"."s1"
    ), "m3" AS (
      SELECT
        "f3"."a0" AS "s0",
        "f3"."a1" AS "s1",
        COUNT(*) AS "n"
      FROM (
        SELECT
          "a"."a0",
          "a"."a1",
          "a"."a2"
        FROM "memory"."sqlrl"."atom_InField" AS "a"
      ) AS "f3"
      GROUP BY
        "f3"."a0",
        "f3"."a1"
    ), "m4" AS (
      SELECT
        "f2"."a2" AS "s0",
        "f2"."a0" AS "s1",
        COUNT(*) AS "n"
      FROM "memory"."sqlrl"."fact_Token" AS "f2"
      GROUP BY
        "f2"."a2",
        "f2"."a0"
    )
    SELECT
      "clause",
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        "p"."clause" AS "clause",
        CAST(SUM("m2"."n") AS INT128) AS "n"
      FROM "memory"."sqlrl"."scratch_parameter" AS "p"
      INNER JOIN "m2" AS "m2"
        ON "m2"."s0" = "p"."k1"
      GROUP BY
        "p"."clause"
      UNION ALL
      SELECT
        "p"."clause" AS "clause",
        CAST(SUM("m3"."n" * "m4"."n" * (
          -1
        )) AS INT128) AS "n"
      FROM "m3" AS "m3"
      INNER JOIN "m4" AS "m4"
        ON "m4"."s0" = "m3"."s0"
      INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
        ON "p"."k0" = "m3"."s1" AND "p"."k1" = "m4"."s1"
      GROUP BY
        "p"."clause"
    ) AS "terms"
    GROUP BY
      "clause"
  ) AS "q"
  WHERE
    "q"."n" > 0
) AS "g";
