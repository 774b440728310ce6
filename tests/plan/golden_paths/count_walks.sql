SELECT
  COALESCE(CAST(SUM("d"."n") AS INT128), 0) AS "n"
FROM "db"."main"."one" AS "f"
INNER JOIN (
  SELECT
    "e"."entity",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "start" AS "entity"
    FROM "db"."main"."edges"
    WHERE
      "stop" IN (
        SELECT
          "entity"
        FROM "db"."main"."last"
      )
    UNION ALL
    SELECT
      "start" AS "entity"
    FROM "db"."main"."marks"
  ) AS "e"
  GROUP BY
    "e"."entity"
) AS "d"
  ON "f"."entity" = "d"."entity";
