-- scoped: 1 Friends(x, y) => Cancer(z) v y = z

SELECT
  "g"."l0",
  "g"."multiplicity"
FROM (
  WITH "m0" AS (
    SELECT
      COUNT(*) AS "n"
    FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  ), "m1" AS (
    SELECT
      "f1"."a1" AS "s0",
      COUNT(*) AS "n"
    FROM "memory"."sqlrl"."fact_Friends" AS "f1"
    GROUP BY
      "f1"."a1"
  )
  SELECT
    "o0"."atom" AS "l0",
    (
      "m0"."n" + (
        -1
      ) * COALESCE("m1"."n", 0)
    ) AS "multiplicity"
  FROM "m0" AS "m0"
  CROSS JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
  LEFT JOIN "m1" AS "m1"
    ON "m1"."s0" = "o0"."a0"
  WHERE
    (
      "m0"."n" + (
        -1
      ) * COALESCE("m1"."n", 0)
    ) > 0
  UNION ALL
  SELECT
    0 AS "l0",
    "q"."n" AS "multiplicity"
  FROM (
    WITH "m0" AS (
      SELECT
        COUNT(*) AS "n"
      FROM (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      ) AS "f2"
    )
    SELECT
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        CAST(SUM(3) AS INT128) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f0"
      UNION ALL
      SELECT
        CAST(SUM("m0"."n" * (
          -1
        )) AS INT128) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f1"
      CROSS JOIN "m0" AS "m0"
      UNION ALL
      SELECT
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f3"
      UNION ALL
      SELECT
        CAST(SUM(1) AS INT128) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f4"
      INNER JOIN (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      ) AS "f5"
        ON "f5"."a0" = "f4"."a1"
    ) AS "terms"
  ) AS "q"
  WHERE
    "q"."n" > 0
) AS "g";
