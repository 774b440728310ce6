-- count: 1 Friends(x, Anna) v Smokes(y) v Cancer(z)

SELECT
  "part0"."clause",
  "part0"."n" * "part1"."n" * "part2"."n" AS "n"
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
) AS "part0"
CROSS JOIN (
  SELECT
    CAST(SUM("terms"."n") AS INT128) AS "n"
  FROM (
    SELECT
      CAST(3 AS INT128) AS "n"
    UNION ALL
    SELECT
      CAST(SUM((
        -1
      )) AS INT128) AS "n"
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        "a"."truth"
    ) AS "f0"
  ) AS "terms"
) AS "part1"
CROSS JOIN (
  SELECT
    CAST(SUM("terms"."n") AS INT128) AS "n"
  FROM (
    SELECT
      CAST(3 AS INT128) AS "n"
    UNION ALL
    SELECT
      CAST(SUM((
        -1
      )) AS INT128) AS "n"
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Smokes" AS "a"
      WHERE
        "a"."truth"
      UNION ALL
      SELECT
        "a0"
      FROM "memory"."sqlrl"."fact_Smokes"
      WHERE
        "given" AND "truth"
    ) AS "f0"
  ) AS "terms"
) AS "part2";
