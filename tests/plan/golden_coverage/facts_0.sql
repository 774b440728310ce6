SELECT
  "r"."component",
  "r"."p0",
  "f"."a0",
  "f"."a1"
FROM "db"."main"."layer" AS "r"
INNER JOIN "db"."main"."friends" AS "f"
  ON "f"."a1" = "r"."x1"
WHERE
  "r"."pattern" = 0;
