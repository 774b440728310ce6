-- difference: 1 Friends(x, y) ^ Cancer(x) => Cancer(y)

WITH "c0" AS (
  SELECT
    "a"."a0",
    1 AS "change"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
  JOIN (
    SELECT
      "atom"
    FROM "memory"."sqlrl"."scratch_world"
    EXCEPT
    SELECT
      "atom"
    FROM "memory"."sqlrl"."atom_Cancer"
    WHERE
      "truth"
  ) AS "w"
    ON "w"."atom" = "a"."atom"
  UNION ALL
  SELECT
    "a"."a0",
    (
      -1
    ) AS "change"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
  JOIN (
    SELECT
      "atom"
    FROM "memory"."sqlrl"."atom_Cancer"
    WHERE
      "truth"
    EXCEPT
    SELECT
      "atom"
    FROM "memory"."sqlrl"."scratch_world"
  ) AS "w"
    ON "w"."atom" = "a"."atom"
)
SELECT
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    CAST(SUM("c0"."change") AS INT128) AS "n"
  FROM "c0" AS "c0"
  INNER JOIN (
    SELECT
      "f0"."a0",
      "f0"."a1"
    FROM "memory"."sqlrl"."fact_Friends" AS "f0"
    WHERE
      "f0"."a0" IN (
        SELECT
          "a0"
        FROM "c0"
      )
  ) AS "f0r"
    ON "f0r"."a0" = "c0"."a0"
  UNION ALL
  SELECT
    CAST(SUM("c0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "c0"
  INNER JOIN (
    SELECT
      "f1"."a0",
      "f1"."a1"
    FROM "memory"."sqlrl"."fact_Friends" AS "f1"
    WHERE
      "f1"."a0" IN (
        SELECT
          "a0"
        FROM "c0"
      )
  ) AS "f1r"
    ON "f1r"."a0" = "c0"."a0"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f2"
    ON "f2"."a0" = "f1r"."a1"
  UNION ALL
  SELECT
    CAST(SUM("c0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "c0"
  INNER JOIN (
    SELECT
      "f4"."a0",
      "f4"."a1"
    FROM "memory"."sqlrl"."fact_Friends" AS "f4"
    WHERE
      "f4"."a1" IN (
        SELECT
          "a0"
        FROM "c0"
      )
  ) AS "f4r"
    ON "f4r"."a1" = "c0"."a0"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    JOIN "memory"."sqlrl"."scratch_world" AS "w"
      ON "w"."atom" = "a"."atom"
  ) AS "f3"
    ON "f3"."a0" = "f4r"."a0"
) AS "terms";
