package lochan.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Columns that tell of each row where it is from. They are read only where a statement names them. */
final class MetadataColumns {
  static final String OBJECT = "_object";
  static final String ROW = "_row";
  static final String COMMIT = "_commit";
  static final String PATH = "_path";
  static final String BEFORE = "_before";

  private MetadataColumns() {}

  /** Of a pool. `_before` is the whole row, which a statement that changes rows compares with what it becomes. */
  static MetadataColumn[] ofPool(StructType schema) {
    return new MetadataColumn[] {
      new Column(COMMIT, DataTypes.StringType, "the commit that the table is read at"),
      new Column(OBJECT, DataTypes.StringType, "the data object that holds the row"),
      new Column(ROW, DataTypes.LongType, "the number of the row in its data object"),
      new Column(BEFORE, schema, "the row before a statement changes it")
    };
  }

  static boolean isOfPool(String name) {
    return List.of(COMMIT, OBJECT, ROW, BEFORE).contains(name.toLowerCase());
  }

  static MetadataColumn[] ofFiles() {
    return new MetadataColumn[] {
      new Column(COMMIT, DataTypes.StringType, "the commit that the table is read at"),
      new Column(PATH, DataTypes.StringType, "the path of the file in the repository")
    };
  }

  /** Those among the columns that the table itself does not have. */
  static ArrayNode among(StructType columns, StructType table) {
    ArrayNode made = Planner.JSON.createArrayNode();
    List<String> own = Arrays.asList(table.fieldNames());
    for (String name : columns.fieldNames()) {
      if (!own.contains(name)) {
        made.add(name);
      }
    }
    return made;
  }

  /** A row always has them; in a join that leaves its side empty Spark makes them NULL itself. */
  private record Column(String name, DataType dataType, String comment) implements MetadataColumn {
    @Override
    public boolean isNullable() {
      return false;
    }
  }
}
