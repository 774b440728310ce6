SELECT
  "r"."component",
  "r"."p0",
  "f"."example",
  "f"."a0",
  "f"."a1"
FROM "db"."main"."layer" AS "r"
INNER JOIN "db"."main"."says" AS "f"
  ON "f"."a1" = "r"."x2"
WHERE
  "r"."pattern" = 1;
