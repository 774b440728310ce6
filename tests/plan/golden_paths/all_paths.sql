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
      NOT (
        (
          (
            (
              "f"."path" * 36 + "b"."path"
            ) // 36
          ) = 2
          AND "f"."origin" = "t"."first"
          AND "f"."entity" = "t"."last"
        )
        OR (
          (
            (
              "f"."path" * 36 + "b"."path"
            ) // 36
          ) = 3
          AND "f"."origin" = "t"."last"
          AND "f"."entity" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              ) // 6
            ) % 6
          ) = 2
          AND "f"."entity" = "t"."first"
          AND "b"."w1" = "t"."last"
        )
        OR (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              ) // 6
            ) % 6
          ) = 3
          AND "f"."entity" = "t"."last"
          AND "b"."w1" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              )
            ) % 6
          ) = 2
          AND "b"."w1" = "t"."first"
          AND "b"."origin" = "t"."last"
        )
        OR (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              )
            ) % 6
          ) = 3
          AND "b"."w1" = "t"."last"
          AND "b"."origin" = "t"."first"
        )
      )
    )
    OR (
      NOT (
        (
          (
            (
              "f"."path" * 36 + "b"."path"
            ) // 36
          ) = 2
          AND "f"."origin" = "t"."first"
          AND "f"."entity" = "t"."last"
        )
        OR (
          (
            (
              "f"."path" * 36 + "b"."path"
            ) // 36
          ) = 3
          AND "f"."origin" = "t"."last"
          AND "f"."entity" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              ) // 6
            ) % 6
          ) = 2
          AND "f"."entity" = "t"."first"
          AND "b"."w2" = "t"."last"
        )
        OR (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              ) // 6
            ) % 6
          ) = 3
          AND "f"."entity" = "t"."last"
          AND "b"."w2" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              )
            ) % 6
          ) = 2
          AND "b"."w2" = "t"."first"
          AND "b"."origin" = "t"."last"
        )
        OR (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              )
            ) % 6
          ) = 3
          AND "b"."w2" = "t"."last"
          AND "b"."origin" = "t"."first"
        )
      )
    )
    OR (
      NOT (
        (
          (
            (
              "f"."path" * 36 + "b"."path"
            ) // 36
          ) = 2
          AND "f"."origin" = "t"."first"
          AND "f"."entity" = "t"."last"
        )
        OR (
          (
            (
              "f"."path" * 36 + "b"."path"
            ) // 36
          ) = 3
          AND "f"."origin" = "t"."last"
          AND "f"."entity" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              ) // 6
            ) % 6
          ) = 2
          AND "f"."entity" = "t"."first"
          AND "b"."w3" = "t"."last"
        )
        OR (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              ) // 6
            ) % 6
          ) = 3
          AND "f"."entity" = "t"."last"
          AND "b"."w3" = "t"."first"
        )
      )
      AND NOT (
        (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              )
            ) % 6
          ) = 2
          AND "b"."w3" = "t"."first"
          AND "b"."origin" = "t"."last"
        )
        OR (
          (
            (
              (
                "f"."path" * 36 + "b"."path"
              )
            ) % 6
          ) = 3
          AND "b"."w3" = "t"."last"
          AND "b"."origin" = "t"."first"
        )
      )
    )
) AS "s"
GROUP BY
  "s"."path";
