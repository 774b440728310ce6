SELECT
  "c"."component",
  "c"."key",
  COUNT(*) AS "n"
FROM (
  SELECT
    *
  FROM "db"."main"."bindings" AS "b"
  WHERE
    "b"."component" >= 7
) AS "c"
GROUP BY
  "c"."component",
  "c"."key"
ORDER BY
  "c"."component",
  "c"."key";
