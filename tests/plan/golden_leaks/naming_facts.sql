SELECT DISTINCT
  "p"."bib",
  "p"."bib_2"
FROM "sqlrl"."named_Cites" AS "p"
INNER JOIN "sqlrl"."audit_atom" AS "t"
  ON "t"."run" = 7 AND "t"."example" = "p"."bib_2"
INNER JOIN "sqlrl"."audit_atom" AS "r"
  ON "r"."run" = 7 AND "r"."example" = "p"."bib"
INNER JOIN "sqlrl"."audit_seen" AS "s"
  ON "s"."run" = 7 AND "s"."test" = "t"."part" AND "s"."training" = "r"."part"
ORDER BY
  "p"."bib",
  "p"."bib_2";
