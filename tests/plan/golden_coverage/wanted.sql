SELECT
  "b"."component",
  "b"."key",
  "b"."h0",
  "b"."h1",
  "b"."h2",
  "b"."places"
FROM "db"."main"."bindings" AS "b"
WHERE
  "b"."component" IN (
    SELECT
      "q"."p0" AS "component"
    FROM "db"."main"."layer" AS "q"
    UNION ALL
    SELECT
      "q"."p1" AS "component"
    FROM "db"."main"."layer" AS "q"
  );
