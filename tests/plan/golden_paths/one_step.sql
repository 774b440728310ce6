SELECT
  "s"."path",
  COUNT_IF("s"."positive") AS "positive",
  COUNT_IF(NOT "s"."positive") AS "negative"
FROM (
  SELECT DISTINCT
    "t"."number",
    "t"."positive",
    "f"."path" AS "path"
  FROM "db"."main"."pairs" AS "t"
  INNER JOIN "db"."main"."one" AS "f"
    ON "f"."origin" = "t"."first" AND "f"."entity" = "t"."last"
  WHERE
    (
      NOT (
        (
          "f"."path" = 2 AND "f"."origin" = "t"."first" AND "f"."entity" = "t"."last"
        )
        OR (
          "f"."path" = 3 AND "f"."origin" = "t"."last" AND "f"."entity" = "t"."first"
        )
      )
    )
) AS "s"
GROUP BY
  "s"."path";
