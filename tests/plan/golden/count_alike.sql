-- count: 1 Smokes(Anna) v (Friends(x, Anna) <=> Friends(y, Bob))

SELECT
  "part0"."clause",
  CAST(SUM("part0"."n" * "part1"."n" * "part2"."n" * "part3"."n") AS INT128) AS "n"
FROM (
  WITH "m0" AS (
    SELECT
      "f0"."a1" AS "s0",
      COUNT(*) AS "n"
    FROM "memory"."sqlrl"."fact_Friends" AS "f0"
    GROUP BY
      "f0"."a1"
  )
  SELECT
    "p"."clause" AS "clause",
    "p"."k0" AS "k0",
    "p"."k1" AS "k1",
    "p"."k2" AS "k2",
    CAST(SUM("m0"."n") AS INT128) AS "n"
  FROM (
    SELECT DISTINCT
      "clause",
      "k0",
      "k1",
      "k2"
    FROM "memory"."sqlrl"."scratch_parameter"
  ) AS "p"
  INNER JOIN "m0" AS "m0"
    ON "m0"."s0" = "p"."k0"
  GROUP BY
    "p"."clause",
    "p"."k0",
    "p"."k1",
    "p"."k2"
) AS "part0"
INNER JOIN (
  WITH "m0" AS (
    SELECT
      "f0"."a1" AS "s0",
      COUNT(*) AS "n"
    FROM "memory"."sqlrl"."fact_Friends" AS "f0"
    GROUP BY
      "f0"."a1"
  )
  SELECT
    "clause",
    "k0",
    "k1",
    "k2",
    CAST(SUM("terms"."n") AS INT128) AS "n"
  FROM (
    SELECT
      "p"."clause" AS "clause",
      "p"."k0" AS "k0",
      "p"."k1" AS "k1",
      "p"."k2" AS "k2",
      CAST(SUM(3) AS INT128) AS "n"
    FROM (
      SELECT DISTINCT
        "clause",
        "k0",
        "k1",
        "k2"
      FROM "memory"."sqlrl"."scratch_parameter"
    ) AS "p"
    GROUP BY
      "p"."clause",
      "p"."k0",
      "p"."k1",
      "p"."k2"
    UNION ALL
    SELECT
      "p"."clause" AS "clause",
      "p"."k0" AS "k0",
      "p"."k1" AS "k1",
      "p"."k2" AS "k2",
      CAST(SUM("m0"."n" * (
        -1
      )) AS INT128) AS "n"
    FROM (
      SELECT DISTINCT
        "clause",
        "k0",
        "k1",
        "k2"
      FROM "memory"."sqlrl"."scratch_parameter"
    ) AS "p"
    INNER JOIN "m0" AS "m0"
      ON "m0"."s0" = "p"."k1"
    GROUP BY
      "p"."clause",
      "p"."k0",
      "p"."k1",
      "p"."k2"
  ) AS "terms"
  GROUP BY
    "clause",
    "k0",
    "k1",
    "k2"
) AS "part1"
  ON "part1"."clause" = "part0"."clause"
  AND "part1"."k0" = "part0"."k0"
  AND "part1"."k1" = "part0"."k1"
  AND "part1"."k2" = "part0"."k2"
INNER JOIN (
  SELECT
    "clause",
    "k0",
    "k1",
    "k2",
    CAST(SUM("terms"."n") AS INT128) AS "n"
  FROM (
    SELECT
      "p"."clause" AS "clause",
      "p"."k0" AS "k0",
      "p"."k1" AS "k1",
      "p"."k2" AS "k2",
      CAST(SUM(1) AS INT128) AS "n"
    FROM (
      SELECT DISTINCT
        "clause",
        "k0",
        "k1",
        "k2"
      FROM "memory"."sqlrl"."scratch_parameter"
    ) AS "p"
    GROUP BY
      "p"."clause",
      "p"."k0",
      "p"."k1",
      "p"."k2"
    UNION ALL
    SELECT
      "p"."clause" AS "clause",
      "p"."k0" AS "k0",
      "p"."k1" AS "k1",
      "p"."k2" AS "k2",
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
    INNER JOIN (
      SELECT DISTINCT
        "clause",
        "k0",
        "k1",
        "k2"
      FROM "memory"."sqlrl"."scratch_parameter"
    ) AS "p"
      ON "p"."k2" = "f0"."a0"
    GROUP BY
      "p"."clause",
      "p"."k0",
      "p"."k1",
      "p"."k2"
  ) AS "terms"
  GROUP BY
    "clause",
    "k0",
    "k1",
    "k2"
) AS "part2"
  ON "part2"."clause" = "part0"."clause"
  AND "part2"."k0" = "part0"."k0"
  AND "part2"."k1" = "part0"."k1"
  AND "part2"."k2" = "part0"."k2"
INNER JOIN (
  SELECT
    "clause",
    "k0",
    "k1",
    "k2",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."scratch_parameter"
  GROUP BY
    "clause",
    "k0",
    "k1",
    "k2"
) AS "part3"
  ON "part3"."clause" = "part0"."clause"
  AND "part3"."k0" = "part0"."k0"
  AND "part3"."k1" = "part0"."k1"
  AND "part3"."k2" = "part0"."k2"
GROUP BY
  "part0"."clause";
