-- difference: 1 Friends(x, y) ^ Friends(y, z) ^ Smokes(z) => Cancer(x)

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
), "r1" AS (
  SELECT
    "f1"."a0",
    "f1"."a1"
  FROM "memory"."sqlrl"."fact_Friends" AS "f1"
  WHERE
    "f1"."a1" IN (
      SELECT
        "a0"
      FROM "c0"
    )
), "m2" AS (
  SELECT
    "f0r"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "f0"."a0",
      "f0"."a1"
    FROM "memory"."sqlrl"."fact_Friends" AS "f0"
    WHERE
      "f0"."a1" IN (
        SELECT
          "a0"
        FROM "r1"
      )
  ) AS "f0r"
  GROUP BY
    "f0r"."a1"
), "r3" AS (
  SELECT
    "f3"."a0",
    "f3"."a1"
  FROM "memory"."sqlrl"."fact_Friends" AS "f3"
  WHERE
    "f3"."a1" IN (
      SELECT
        "a0"
      FROM "c0"
    )
), "m4" AS (
  SELECT
    "f2r"."a1" AS "s0",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "f2"."a0",
      "f2"."a1"
    FROM "memory"."sqlrl"."fact_Friends" AS "f2"
    WHERE
      "f2"."a1" IN (
        SELECT
          "a0"
        FROM "r3"
      )
  ) AS "f2r"
  INNER JOIN (
    SELECT
      "a"."a0"
    FROM "memory"."sqlrl"."atom_Cancer" AS "a"
    WHERE
      "a"."truth"
  ) AS "f4"
    ON "f4"."a0" = "f2r"."a0"
  GROUP BY
    "f2r"."a1"
), "c5" AS (
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
), "r6" AS (
  SELECT
    "f5"."a0",
    "f5"."a1"
  FROM "memory"."sqlrl"."fact_Friends" AS "f5"
  WHERE
    "f5"."a0" IN (
      SELECT
        "a0"
      FROM "c5"
    )
), "m7" AS (
  SELECT
    "r6"."a1" AS "s0",
    CAST(SUM("c5"."change") AS BIGINT) AS "n"
  FROM "c5" AS "c5"
  INNER JOIN "r6" AS "r6"
    ON "r6"."a0" = "c5"."a0"
  GROUP BY
    "r6"."a1"
)
SELECT
  CAST(SUM("terms"."n") AS INT128) AS "n"
FROM (
  SELECT
    CAST(SUM("c0"."change" * "m2"."n") AS INT128) AS "n"
  FROM "c0" AS "c0"
  INNER JOIN "r1" AS "r1"
    ON "r1"."a1" = "c0"."a0"
  INNER JOIN "m2" AS "m2"
    ON "m2"."s0" = "r1"."a0"
  UNION ALL
  SELECT
    CAST(SUM("c0"."change" * "m4"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM "c0" AS "c0"
  INNER JOIN "r3" AS "r3"
    ON "r3"."a1" = "c0"."a0"
  INNER JOIN "m4" AS "m4"
    ON "m4"."s0" = "r3"."a0"
  UNION ALL
  SELECT
    CAST(SUM("m7"."n" * (
      -1
    )) AS INT128) AS "n"
  FROM (
    SELECT
      "f6"."a0",
      "f6"."a1"
    FROM "memory"."sqlrl"."fact_Friends" AS "f6"
    WHERE
      "f6"."a0" IN (
        SELECT
          "a1"
        FROM "r6"
      )
  ) AS "f6r"
  INNER JOIN (
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
  ) AS "f7"
    ON "f7"."a0" = "f6r"."a1"
  INNER JOIN "m7" AS "m7"
    ON "m7"."s0" = "f6r"."a0"
) AS "terms";
