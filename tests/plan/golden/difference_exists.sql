-- difference: 1 Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))

WITH "c0" AS (
  SELECT
    "a"."a0",
    1 AS "change"
  FROM "memory"."sqlrl"."atom_Smokes" AS "a"
  JOIN (
    SELECT
      "atom"
    FROM "memory"."sqlrl"."scratch_world"
    EXCEPT
    SELECT
      "atom"
    FROM "memory"."sqlrl"."atom_Smokes"
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
  FROM "memory"."sqlrl"."atom_Smokes" AS "a"
  JOIN (
    SELECT
      "atom"
    FROM "memory"."sqlrl"."atom_Smokes"
    WHERE
      "truth"
    EXCEPT
    SELECT
      "atom"
    FROM "memory"."sqlrl"."scratch_world"
  ) AS "w"
    ON "w"."atom" = "a"."atom"
), "c1" AS (
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
), "t2" AS (
  SELECT DISTINCT
    "wt0"."a0" AS "x0"
  FROM "c1" AS "t"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "wt0"
    ON "wt0"."a1" = "t"."a0"
), "c3" AS (
  SELECT
    "x0",
    1 AS "change"
  FROM (
    SELECT DISTINCT
      "i1"."x0" AS "x0"
    FROM (
      SELECT DISTINCT
        *
      FROM "t2"
    ) AS "i1"
    INNER JOIN "memory"."sqlrl"."fact_Friends" AS "wt0"
      ON "wt0"."a0" = "i1"."x0"
    INNER JOIN (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      JOIN "memory"."sqlrl"."scratch_world" AS "w"
        ON "w"."atom" = "a"."atom"
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
    EXCEPT
    SELECT DISTINCT
      "i1"."x0" AS "x0"
    FROM (
      SELECT DISTINCT
        *
      FROM "t2"
    ) AS "i1"
    INNER JOIN "memory"."sqlrl"."fact_Friends" AS "wt0"
      ON "wt0"."a0" = "i1"."x0"
    INNER JOIN (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
  ) AS "e"
  UNION ALL
  SELECT
    "x0",
    (
      -1
    ) AS "change"
  FROM (
    SELECT DISTINCT
      "i1"."x0" AS "x0"
    FROM (
      SELECT DISTINCT
        *
      FROM "t2"
    ) AS "i1"
    INNER JOIN "memory"."sqlrl"."fact_Friends" AS "wt0"
      ON "wt0"."a0" = "i1"."x0"
    INNER JOIN (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        "a"."truth"
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
    EXCEPT
    SELECT DISTINCT
      "i1"."x0" AS "x0"
    FROM (
      SELECT DISTINCT
        *
      FROM "t2"
    ) AS "i1"
    INNER JOIN "memory"."sqlrl"."fact_Friends" AS "wt0"
      ON "wt0"."a0" = "i1"."x0"
    INNER JOIN (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      JOIN "memory"."sqlrl"."scratch_world" AS "w"
        ON "w"."atom" = "a"."atom"
    ) AS "wt1"
      ON "wt1"."a0" = "wt0"."a1"
  ) AS "e"
)
SELECT
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    CAST(SUM("c0"."change") AS INT128) AS "n"
  FROM "c0" AS "c0"
  UNION ALL
  SELECT
    CAST(SUM("c0"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "c0"
  INNER JOIN (
    SELECT
      "f0"."x0"
    FROM (
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
    ) AS "f0"
    WHERE
      "f0"."x0" IN (
        SELECT
          "a0"
        FROM "c0"
      )
  ) AS "f0r"
    ON "f0r"."x0" = "c0"."a0"
  UNION ALL
  SELECT
    CAST(SUM("c3"."change" * (
      -1
    )) AS INT128) AS "n"
  FROM "c3" AS "c3"
  INNER JOIN (
    SELECT
      "f2"."a0"
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Smokes" AS "a"
      JOIN "memory"."sqlrl"."scratch_world" AS "w"
        ON "w"."atom" = "a"."atom"
      UNION ALL
      SELECT
        "a0"
      FROM "memory"."sqlrl"."fact_Smokes"
      WHERE
        "given" AND "truth"
    ) AS "f2"
    WHERE
      "f2"."a0" IN (
        SELECT
          "x0"
        FROM "c3"
      )
  ) AS "f2r"
    ON "f2r"."a0" = "c3"."x0"
) AS "terms";
