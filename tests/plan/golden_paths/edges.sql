SELECT
  CAST("t"."a0" AS BIGINT) + 0 AS "start",
  CAST(0 AS BIGINT) AS "relation",
  CAST("t"."a1" AS BIGINT) + 0 AS "stop"
FROM "db"."main"."friends" AS "t";
