WITH "walks" AS (
  SELECT
    "f"."origin" AS "origin",
    "e"."relation" * 6 + "f"."path" AS "path",
    "e"."start" AS "entity",
    "f"."entity" AS "m1"
  FROM "db"."main"."last" AS "f"
  INNER JOIN (
    SELECT
      "start",
      "relation",
      "stop"
    FROM "db"."main"."edges"
    UNION ALL
    SELECT
      "stop" AS "start",
      "relation" AS "relation",
      "start" AS "stop"
    FROM "db"."main"."marks"
  ) AS "e"
    ON "f"."entity" = "e"."stop"
  WHERE
    "e"."start" <> "f"."origin" AND "e"."start" <> "f"."entity"
)
SELECT
  "r"."origin",
  "r"."path",
  "r"."entity"
FROM "walks" AS "r"
GROUP BY
  "r"."origin",
  "r"."path",
  "r"."entity";
