package lochan.spark;

import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Whether two values are the same, in whatever form Spark has them. Values that cannot be compared are not the same. */
final class Values {
  private Values() {}

  static boolean same(Object left, Object right, DataType type) {
    if (left == null || right == null) return left == right;
    if (left instanceof InternalRow a && right instanceof InternalRow b && type instanceof StructType of) {
      return same(a, b, of);
    }
    if (left instanceof ArrayData a && right instanceof ArrayData b && type instanceof ArrayType of) {
      return same(a, b, of.elementType());
    }
    return Objects.equals(left, right);
  }

  private static boolean same(InternalRow left, InternalRow right, StructType type) {
    for (int i = 0; i < type.size(); i++) {
      DataType of = type.apply(i).dataType();
      Object a = left.isNullAt(i) ? null : left.get(i, of);
      Object b = right.isNullAt(i) ? null : right.get(i, of);
      if (!same(a, b, of)) return false;
    }
    return true;
  }

  private static boolean same(ArrayData left, ArrayData right, DataType of) {
    if (left.numElements() != right.numElements()) return false;
    for (int i = 0; i < left.numElements(); i++) {
      Object a = left.isNullAt(i) ? null : left.get(i, of);
      Object b = right.isNullAt(i) ? null : right.get(i, of);
      if (!same(a, b, of)) return false;
    }
    return true;
  }
}
