SELECT
  COUNT(DISTINCT "e"."entity") AS "n"
FROM (
  SELECT
    "a"."arguments"[1] AS "entity"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7
    AND "a"."part" IN (
      SELECT
        "s"."test"
      FROM "sqlrl"."audit_seen" AS "s"
      WHERE
        "s"."run" = 7
    )
  UNION ALL
  SELECT
    "a"."arguments"[2] AS "entity"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7
    AND "a"."part" IN (
      SELECT
        "s"."test"
      FROM "sqlrl"."audit_seen" AS "s"
      WHERE
        "s"."run" = 7
    )
) AS "e";
