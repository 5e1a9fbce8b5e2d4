package lochan.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.time.LocalDate;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.sources.*;

/** Spark's filters as JSON. One that the planner would not know is left out: it chooses no objects. */
final class FilterJson {
  private FilterJson() {}

  static ArrayNode of(Filter[] filters) {
    ArrayNode made = Planner.JSON.createArrayNode();
    for (Filter each : filters) {
      ObjectNode one = of(each);
      if (one != null) {
        made.add(one);
      }
    }
    return made;
  }

  /** Whether nothing is left out: then the rows that these filters choose can be deleted by them. */
  static boolean isExact(Filter[] filters) {
    for (Filter each : filters) {
      if (!isExact(each)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isExact(Filter filter) {
    if (filter instanceof And f) return isExact(f.left()) && isExact(f.right());
    return of(filter) != null;
  }

  private static ObjectNode of(Filter filter) {
    if (filter instanceof AlwaysTrue) return Planner.JSON.createObjectNode().put("op", "true");
    if (filter instanceof EqualTo f) return test("=", f.attribute(), f.value());
    if (filter instanceof GreaterThan f) return test(">", f.attribute(), f.value());
    if (filter instanceof GreaterThanOrEqual f) return test(">=", f.attribute(), f.value());
    if (filter instanceof LessThan f) return test("<", f.attribute(), f.value());
    if (filter instanceof LessThanOrEqual f) return test("<=", f.attribute(), f.value());
    if (filter instanceof In f) return in(f);
    if (filter instanceof And f) return pair("and", of(f.left()), of(f.right()), true);
    if (filter instanceof Or f) return pair("or", of(f.left()), of(f.right()), false);
    return null;
  }

  /** Half of an `and` still leaves out what it can; half of an `or` would leave out too much. */
  private static ObjectNode pair(String op, ObjectNode left, ObjectNode right, boolean halves) {
    if (left == null || right == null) {
      return halves ? (left == null ? right : left) : null;
    }
    ObjectNode made = Planner.JSON.createObjectNode().put("op", op);
    made.set("left", left);
    made.set("right", right);
    return made;
  }

  private static ObjectNode in(In filter) {
    String column = column(filter.attribute());
    if (column == null) {
      return null;
    }
    ObjectNode made = Planner.JSON.createObjectNode().put("op", "in").put("column", column);
    ArrayNode values = made.putArray("values");
    for (Object each : filter.values()) {
      ObjectNode value = value(each);
      if (value == null) {
        return null;
      }
      values.add(value);
    }
    return made;
  }

  private static ObjectNode test(String op, String attribute, Object given) {
    String column = column(attribute);
    ObjectNode value = value(given);
    if (value == null || column == null) {
      return null;
    }
    ObjectNode made = Planner.JSON.createObjectNode().put("op", op).put("column", column);
    made.set("value", value);
    return made;
  }

  /** A filter names its column as SQL does. Null: it is a member of a column. */
  private static String column(String attribute) {
    var parts = CatalystSqlParser$.MODULE$.parseMultipartIdentifier(attribute);
    return parts.size() == 1 ? parts.head() : null;
  }

  private static ObjectNode value(Object given) {
    ObjectNode made = Planner.JSON.createObjectNode();
    if (given instanceof String text) return made.put("string", text);
    if (given instanceof Boolean flag) return made.put("bool", flag);
    if (given instanceof Long || given instanceof Integer || given instanceof Short || given instanceof Byte) {
      return made.put("int", ((Number) given).longValue());
    }
    if (given instanceof Double || given instanceof Float) {
      double number = ((Number) given).doubleValue();
      return Double.isFinite(number) ? made.put("float", number) : null;
    }
    if (given instanceof java.sql.Timestamp time) return time(made, time.toInstant());
    if (given instanceof Instant time) return time(made, time);
    if (given instanceof java.sql.Date day) return made.put("day", day.toLocalDate().toString());
    if (given instanceof LocalDate day) return made.put("day", day.toString());
    return null;
  }

  private static ObjectNode time(ObjectNode made, Instant time) {
    return made.put("time", Math.addExact(Math.multiplyExact(time.getEpochSecond(), 1_000_000L), time.getNano() / 1_000));
  }
}
