-- number violated by v0 v1: 1 Friends(x, Anna) v Cancer(y) v Cancer(z)

SELECT
  "part0"."clause",
  "part0"."n" * "part1"."n" * "part2"."n" AS "n"
FROM (
  SELECT
    "clause",
    CAST(COUNT(*) AS INT128) AS "n"
  FROM (
    SELECT
      "clause",
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        "p"."clause" AS "clause",
        CAST(SUM(3) AS INT128) AS "n"
      FROM "memory"."sqlrl"."scratch_parameter" AS "p"
      GROUP BY
        "p"."clause"
      UNION ALL
      SELECT
        "p"."clause" AS "clause",
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM "memory"."sqlrl"."fact_Friends" AS "f0"
      INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
        ON "p"."k0" = "f0"."a1"
      GROUP BY
        "p"."clause"
    ) AS "terms"
    GROUP BY
      "clause"
  ) AS "rows_of"
  WHERE
    "rows_of"."n" <> 0
  GROUP BY
    "clause"
) AS "part0"
CROSS JOIN (
  SELECT
    CAST(COUNT(*) AS INT128) AS "n"
  FROM (
    SELECT
      "b0",
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        "d0"."id" AS "b0",
        CAST(SUM(1) AS INT128) AS "n"
      FROM "memory"."sqlrl"."dictionary_person" AS "d0"
      GROUP BY
        "d0"."id"
      UNION ALL
      SELECT
        "f1"."a0" AS "b0",
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
        WHERE
          "a"."truth"
      ) AS "f1"
      GROUP BY
        "f1"."a0"
    ) AS "terms"
    GROUP BY
      "b0"
    HAVING
      CAST(SUM("terms"."n") AS INT128) <> 0
  ) AS "rows_of"
  WHERE
    "rows_of"."n" <> 0
) AS "part1"
CROSS JOIN (
  SELECT
    CAST(COUNT(*) AS INT128) AS "n"
  FROM (
    SELECT
      "b1",
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        "d0"."id" AS "b1",
        CAST(SUM(1) AS INT128) AS "n"
      FROM "memory"."sqlrl"."dictionary_person" AS "d0"
      GROUP BY
        "d0"."id"
      UNION ALL
      SELECT
        "f1"."a0" AS "b1",
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
        WHERE
          "a"."truth"
      ) AS "f1"
      GROUP BY
        "f1"."a0"
    ) AS "terms"
    GROUP BY
      "b1"
    HAVING
      CAST(SUM("terms"."n") AS INT128) <> 0
  ) AS "rows_of"
  WHERE
    "rows_of"."n" <> 0
) AS "part2";
