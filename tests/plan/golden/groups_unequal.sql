-- count by v0 v1: 1 Friends(x, y) ^ x != Anna => Cancer(x) v x = y

SELECT
  "clause",
  "b0",
  "b1",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "p"."clause" AS "clause",
    "f0"."a0" AS "b0",
    "f0"."a1" AS "b1",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  CROSS JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
  GROUP BY
    "p"."clause",
    "f0"."a0",
    "f0"."a1"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f1"."a0" AS "b0",
    "f1"."a1" AS "b1",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f2"
    ON "f2"."a0" = "f1"."a0"
  CROSS JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
  GROUP BY
    "p"."clause",
    "f1"."a0",
    "f1"."a1"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f3"."a0" AS "b0",
    "f3"."a0" AS "b1",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f3"
  CROSS JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
  WHERE
    "f3"."a1" = "f3"."a0"
  GROUP BY
    "p"."clause",
    "f3"."a0",
    "f3"."a0"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f4"."a0" AS "b0",
    "f4"."a1" AS "b1",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f4"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f4"."a0"
  GROUP BY
    "p"."clause",
    "f4"."a0",
    "f4"."a1"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f5"."a0" AS "b0",
    "f5"."a0" AS "b1",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f5"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f6"
    ON "f6"."a0" = "f5"."a0"
  CROSS JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
  WHERE
    "f5"."a1" = "f5"."a0"
  GROUP BY
    "p"."clause",
    "f5"."a0",
    "f5"."a0"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f7"."a0" AS "b0",
    "f7"."a1" AS "b1",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f7"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f8"
    ON "f8"."a0" = "f7"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f7"."a0"
  GROUP BY
    "p"."clause",
    "f7"."a0",
    "f7"."a1"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f9"."a0" AS "b0",
    "f9"."a0" AS "b1",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f9"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f9"."a0"
  WHERE
    "f9"."a1" = "f9"."a0"
  GROUP BY
    "p"."clause",
    "f9"."a0",
    "f9"."a0"
  UNION ALL
  SELECT
    "p"."clause" AS "clause",
    "f10"."a0" AS "b0",
    "f10"."a0" AS "b1",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f10"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f11"
    ON "f11"."a0" = "f10"."a0"
  INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
    ON "p"."k0" = "f10"."a0"
  WHERE
    "f10"."a1" = "f10"."a0"
  GROUP BY
    "p"."clause",
    "f10"."a0",
    "f10"."a0"
) AS "terms"
GROUP BY
  "clause",
  "b0",
  "b1"
HAVING
  CAST(SUM("terms"."n") AS INT128) <> 0;
