SELECT
  "s"."path",
  COUNT_IF("s"."positive") AS "positive",
  COUNT_IF(NOT "s"."positive") AS "negative"
FROM (
  SELECT DISTINCT
    "t"."number",
    "t"."positive",
    "f"."path" * 36 + "b"."path" AS "path"
  FROM "db"."main"."pairs" AS "t"
  INNER JOIN "db"."main"."one" AS "f"
    ON "f"."origin" = "t"."first"
  INNER JOIN "db"."main"."two" AS "b"
    ON "b"."origin" = "t"."last" AND "b"."entity" = "f"."entity"
  WHERE
    (
      (
        "f"."origin" <> "b"."w1" AND "f"."origin" <> "b"."origin"
      )
      OR (
        "f"."origin" <> "b"."w2" AND "f"."origin" <> "b"."origin"
      )
    )
    AND "t"."number" >= 0
    AND "t"."number" < 100
) AS "s"
GROUP BY
  "s"."path";
