-- count by v0 v1: 1 Friends(x, Anna) v Smokes(y) v Cancer(z)

SELECT
  "part0"."clause",
  "part1"."b0",
  "part0"."b1",
  "part0"."n" * "part1"."n" * "part2"."n" AS "n"
FROM (
  SELECT
    "clause",
    "b1",
    CAST(SUM("terms"."n") AS INT128) AS "n"
  FROM (
    SELECT
      "p"."clause" AS "clause",
      "d0"."id" AS "b1",
      CAST(SUM(1) AS INT128) AS "n"
    FROM "memory"."sqlrl"."dictionary_person" AS "d0"
    CROSS JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    GROUP BY
      "p"."clause",
      "d0"."id"
    UNION ALL
    SELECT
      "p"."clause" AS "clause",
      "f1"."a0" AS "b1",
      CAST(SUM((
        -1
      )) AS INT128) AS "n"
    FROM "memory"."sqlrl"."fact_Friends" AS "f1"
    INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
      ON "p"."k0" = "f1"."a1"
    GROUP BY
      "p"."clause",
      "f1"."a0"
  ) AS "terms"
  GROUP BY
    "clause",
    "b1"
  HAVING
    CAST(SUM("terms"."n") AS INT128) <> 0
) AS "part0"
CROSS JOIN (
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
) AS "part2"
WHERE
  "part2"."n" <> 0;
