SELECT
  "s"."path",
  "s"."constant",
  COUNT_IF("s"."positive") AS "positive",
  COUNT_IF(NOT "s"."positive") AS "negative"
FROM (
  SELECT DISTINCT
    "t"."number",
    "t"."positive",
    "f"."path" AS "path",
    CASE WHEN "f"."entity" < 0 THEN "f"."entity" ELSE "f"."entity" % 30 END AS "constant"
  FROM "db"."main"."pairs" AS "t"
  INNER JOIN "db"."main"."stopped" AS "f"
    ON "f"."origin" = "t"."first"
  WHERE
    (
      NOT (
        (
          (
            "f"."path" // 6
          ) = 2 AND "f"."origin" = "t"."first" AND "f"."w1" = "t"."last"
        )
        OR (
          (
            "f"."path" // 6
          ) = 3 AND "f"."origin" = "t"."last" AND "f"."w1" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              "f"."path"
            ) % 6
          ) = 2
          AND "f"."w1" = "t"."first"
          AND "f"."entity" = "t"."last"
        )
        OR (
          (
            (
              "f"."path"
            ) % 6
          ) = 3
          AND "f"."w1" = "t"."last"
          AND "f"."entity" = "t"."first"
        )
      )
    )
    OR (
      NOT (
        (
          (
            "f"."path" // 6
          ) = 2 AND "f"."origin" = "t"."first" AND "f"."w2" = "t"."last"
        )
        OR (
          (
            "f"."path" // 6
          ) = 3 AND "f"."origin" = "t"."last" AND "f"."w2" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              "f"."path"
            ) % 6
          ) = 2
          AND "f"."w2" = "t"."first"
          AND "f"."entity" = "t"."last"
        )
        OR (
          (
            (
              "f"."path"
            ) % 6
          ) = 3
          AND "f"."w2" = "t"."last"
          AND "f"."entity" = "t"."first"
        )
      )
    )
) AS "s"
GROUP BY
  "s"."path",
  "s"."constant";
