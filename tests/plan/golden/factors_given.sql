-- factors: Smokes(x) ^ Cancer(y) => Friends(x, y).

WITH "m0" AS (
  SELECT
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a0"
    FROM "memory"."sqlrl"."atom_Smokes"
    UNION ALL
    SELECT
      "a0"
    FROM "memory"."sqlrl"."fact_Smokes"
    WHERE
      "given" AND "truth"
  ) AS "f2"
), "m1" AS (
  SELECT
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a0"
    FROM "memory"."sqlrl"."atom_Cancer"
  ) AS "f7"
), "m2" AS (
  SELECT
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a0"
    FROM "memory"."sqlrl"."atom_Cancer"
  ) AS "f13"
)
SELECT
  "x"."example" AS "example",
  "x"."nodes",
  "y"."factors",
  "y"."edges"
FROM (
  SELECT
    "example",
    COUNT(DISTINCT "atom") AS "nodes"
  FROM (
    SELECT
      "example",
      "atom"
    FROM (
      SELECT
        "example",
        "atom",
        CAST(SUM("terms"."n") AS INT128) AS "n"
      FROM (
        SELECT
          "o0"."example" AS "example",
          "o0"."atom" AS "atom",
          CAST(SUM("m0"."n") AS INT128) AS "n"
        FROM (
          SELECT
            "a0"
          FROM "memory"."sqlrl"."atom_Cancer"
        ) AS "f1"
        INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
          ON "o0"."a0" = "f1"."a0"
        CROSS JOIN "m0" AS "m0"
        GROUP BY
          "o0"."example",
          "o0"."atom"
        UNION ALL
        SELECT
          "o0"."example" AS "example",
          "o0"."atom" AS "atom",
          CAST(SUM((
            -1
          )) AS INT128) AS "n"
        FROM (
          SELECT
            "a0"
          FROM "memory"."sqlrl"."atom_Cancer"
        ) AS "f3"
        INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f5"
          ON "f5"."a1" = "f3"."a0"
        INNER JOIN (
          SELECT
            "a0"
          FROM "memory"."sqlrl"."atom_Smokes"
          UNION ALL
          SELECT
            "a0"
          FROM "memory"."sqlrl"."fact_Smokes"
          WHERE
            "given" AND "truth"
        ) AS "f4"
          ON "f4"."a0" = "f5"."a0"
        INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
          ON "o0"."a0" = "f3"."a0"
        GROUP BY
          "o0"."example",
          "o0"."atom"
      ) AS "terms"
      GROUP BY
        "example",
        "atom"
      HAVING
        CAST(SUM("terms"."n") AS INT128) > 0
    ) AS "a"
    UNION ALL
    SELECT
      "example",
      "atom"
    FROM (
      SELECT
        "example",
        "atom",
        CAST(SUM("terms"."n") AS INT128) AS "n"
      FROM (
        SELECT
          "o6"."example" AS "example",
          "o6"."atom" AS "atom",
          CAST(SUM("m1"."n") AS INT128) AS "n"
        FROM (
          SELECT
            "a0"
          FROM "memory"."sqlrl"."atom_Smokes"
          UNION ALL
          SELECT
            "a0"
          FROM "memory"."sqlrl"."fact_Smokes"
          WHERE
            "given" AND "truth"
        ) AS "f8"
        INNER JOIN "memory"."sqlrl"."atom_Smokes" AS "o6"
          ON "o6"."a0" = "f8"."a0"
        CROSS JOIN "m1" AS "m1"
        GROUP BY
          "o6"."example",
          "o6"."atom"
        UNION ALL
        SELECT
          "o6"."example" AS "example",
          "o6"."atom" AS "atom",
          CAST(SUM((
            -1
          )) AS INT128) AS "n"
        FROM (
          SELECT
            "a0"
          FROM "memory"."sqlrl"."atom_Cancer"
        ) AS "f9"
        INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f11"
          ON "f11"."a1" = "f9"."a0"
        INNER JOIN (
          SELECT
            "a0"
          FROM "memory"."sqlrl"."atom_Smokes"
          UNION ALL
          SELECT
            "a0"
          FROM "memory"."sqlrl"."fact_Smokes"
          WHERE
            "given" AND "truth"
        ) AS "f10"
          ON "f10"."a0" = "f11"."a0"
        INNER JOIN "memory"."sqlrl"."atom_Smokes" AS "o6"
          ON "o6"."a0" = "f11"."a0"
        GROUP BY
          "o6"."example",
          "o6"."atom"
      ) AS "terms"
      GROUP BY
        "example",
        "atom"
      HAVING
        CAST(SUM("terms"."n") AS INT128) > 0
    ) AS "a"
  ) AS "a"
  GROUP BY
    "example"
) AS "x"
JOIN (
  SELECT
    "example",
    "n" AS "factors",
    "n" * 2 AS "edges"
  FROM (
    SELECT
      "example",
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        "o12"."example" AS "example",
        CAST(SUM("m2"."n") AS INT128) AS "n"
      FROM (
        SELECT
          "a0"
        FROM "memory"."sqlrl"."atom_Smokes"
        UNION ALL
        SELECT
          "a0"
        FROM "memory"."sqlrl"."fact_Smokes"
        WHERE
          "given" AND "truth"
      ) AS "f14"
      CROSS JOIN "memory"."sqlrl"."example" AS "o12"
      CROSS JOIN "m2" AS "m2"
      GROUP BY
        "o12"."example"
      UNION ALL
      SELECT
        "o12"."example" AS "example",
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM (
        SELECT
          "a0"
        FROM "memory"."sqlrl"."atom_Cancer"
      ) AS "f15"
      INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f17"
        ON "f17"."a1" = "f15"."a0"
      INNER JOIN (
        SELECT
          "a0"
        FROM "memory"."sqlrl"."atom_Smokes"
        UNION ALL
        SELECT
          "a0"
        FROM "memory"."sqlrl"."fact_Smokes"
        WHERE
          "given" AND "truth"
      ) AS "f16"
        ON "f16"."a0" = "f17"."a0"
      CROSS JOIN "memory"."sqlrl"."example" AS "o12"
      GROUP BY
        "o12"."example"
    ) AS "terms"
    GROUP BY
      "example"
    HAVING
      CAST(SUM("terms"."n") AS INT128) > 0
  ) AS "f"
) AS "y"
  ON "x"."example" = "y"."example";
