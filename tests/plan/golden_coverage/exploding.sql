SELECT
  "c"."mode",
  "c"."n"
FROM (
  SELECT
    "g"."mode" AS "mode",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "s"."seed",
      "s"."mode",
      "s"."a0",
      "s"."a1"
    FROM (
      SELECT
        "k0"."seed" AS "seed",
        0 AS "mode",
        "f"."a0" AS "a0",
        "f"."a1" AS "a1"
      FROM "db"."main"."known" AS "k0"
      INNER JOIN "db"."main"."friends" AS "f"
        ON "f"."a0" = "k0"."id"
      WHERE
        "k0"."type" = 0 AND "k0"."depth" = 0
      UNION ALL
      SELECT
        "n"."seed",
        "n"."mode",
        "n"."a0",
        "n"."a1"
      FROM (
        SELECT
          "k0"."seed" AS "seed",
          1 AS "mode",
          "f"."a0" AS "a0",
          "f"."a1" AS "a1",
          ROW_NUMBER() OVER (PARTITION BY "k0"."seed", "f"."a0", "f"."a1" ORDER BY "f"."a0", "f"."a1") AS "rank"
        FROM "db"."main"."known" AS "k0"
        INNER JOIN "db"."main"."friends" AS "f"
          ON "f"."a0" = "k0"."id"
        INNER JOIN "db"."main"."known" AS "k1"
          ON "k1"."id" = "f"."a1" AND "k1"."seed" = "k0"."seed"
        WHERE
          "k0"."type" = 0 AND "k1"."type" = 0 AND (
            "k0"."depth" = 0 OR "k1"."depth" = 0
          )
      ) AS "n"
      WHERE
        "n"."rank" <= 2
      UNION ALL
      SELECT
        "n"."seed",
        "n"."mode",
        "n"."a0",
        "n"."a1"
      FROM (
        SELECT
          "k0"."seed" AS "seed",
          2 AS "mode",
          "f"."a0" AS "a0",
          "f"."a1" AS "a1",
          ROW_NUMBER() OVER (PARTITION BY "k0"."seed", "f"."a0" ORDER BY "f"."example", "f"."a0", "f"."a1") AS "rank"
        FROM "db"."main"."seeds" AS "e"
        INNER JOIN "db"."main"."says" AS "f"
          ON "f"."example" = "e"."example"
        INNER JOIN "db"."main"."known" AS "k0"
          ON "k0"."id" = "f"."a0" AND "k0"."seed" = "e"."seed"
        WHERE
          "k0"."type" = 0 AND "k0"."depth" = 0
      ) AS "n"
      WHERE
        "n"."rank" <= 1
      UNION ALL
      SELECT
        "n"."seed",
        "n"."mode",
        "n"."a0",
        "n"."a1"
      FROM (
        SELECT
          "e"."seed" AS "seed",
          3 AS "mode",
          "f"."a0" AS "a0",
          "f"."a1" AS "a1",
          ROW_NUMBER() OVER (PARTITION BY "e"."seed" ORDER BY "f"."a0", "f"."a1") AS "rank"
        FROM "db"."main"."seeds" AS "e"
        CROSS JOIN "db"."main"."friends" AS "f"
      ) AS "n"
      WHERE
        "n"."rank" <= 3
      UNION ALL
      SELECT
        "e"."seed" AS "seed",
        4 AS "mode",
        (
          -1
        ) AS "a0",
        (
          -1
        ) AS "a1"
      FROM "db"."main"."seeds" AS "e"
      CROSS JOIN "db"."main"."rains" AS "f"
    ) AS "s"
  ) AS "g"
  GROUP BY
    "g"."mode"
) AS "c"
ORDER BY
  "c"."n" DESC,
  "c"."mode";
