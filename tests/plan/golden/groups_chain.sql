-- count by v0: 1 Friends(x, y) ^ Smokes(x) => Cancer(y)

SELECT
  "b0",
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    "f0"."a1" AS "b0",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f0"
  INNER JOIN (
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
  ) AS "f1"
    ON "f1"."a0" = "f0"."a0"
  GROUP BY
    "f0"."a1"
  UNION ALL
  SELECT
    "f2"."a1" AS "b0",
    CAST(SUM((
      -1
    )) AS INT128) AS "n"
  FROM "memory"."sqlrl"."fact_Friends" AS "f2"
  INNER JOIN (
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
  ) AS "f3"
    ON "f3"."a0" = "f2"."a0"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f4"
    ON "f4"."a0" = "f2"."a1"
  GROUP BY
    "f2"."a1"
) AS "terms"
GROUP BY
  "b0"
HAVING
  CAST(SUM("terms"."n") AS INT128) <> 0;
