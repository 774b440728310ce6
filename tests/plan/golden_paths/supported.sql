WITH "walks" AS (
  SELECT
    "f"."origin" AS "origin",
    "e"."relation" * 6 + "f"."path" AS "path",
    "e"."start" AS "entity",
    "f"."entity" AS "m1"
  FROM "db"."main"."last" AS "f"
  INNER JOIN "db"."main"."edges" AS "e"
    ON "f"."entity" = "e"."stop"
  WHERE
    "e"."start" <> "f"."origin"
    AND "e"."start" <> "f"."entity"
    AND "e"."start" IN (
      SELECT
        "entity"
      FROM "db"."main"."one"
    )
), "found" AS MATERIALIZED (
  SELECT
    "r"."origin",
    "r"."path",
    "r"."entity",
    MIN("r"."m1") AS "w1",
    MAX("r"."m1") AS "w2"
  FROM "walks" AS "r"
  GROUP BY
    "r"."origin",
    "r"."path",
    "r"."entity"
)
SELECT
  *
FROM "found"
WHERE
  "path" IN (
    SELECT
      "a"."path" AS "path"
    FROM (
      SELECT DISTINCT
        "origin",
        "path"
      FROM "found"
    ) AS "a"
    INNER JOIN "db"."main"."stops" AS "b"
      ON "a"."origin" = "b"."origin"
    GROUP BY
      "a"."path"
    HAVING
      SUM("b"."targets") >= 10
  );
