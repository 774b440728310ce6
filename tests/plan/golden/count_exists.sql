-- count: 1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))

SELECT
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    CAST(SUM(1) AS INT128) AS "n"
  FROM (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f0"
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
  ) AS "f1"
  INNER JOIN (
    SELECT DISTINCT
      "wt0"."a0" AS "x0"
    FROM "memory"."sqlrl"."fact_Friends" AS "wt0"
    INNER JOIN (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
  ) AS "f2"
    ON "f2"."x0" = "f1"."a0"
) AS "terms";
